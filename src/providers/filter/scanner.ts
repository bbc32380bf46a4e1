/**
 * Finds marks in a text that arrives in pieces, character by character, holding back only the possible beginning of a
 * mark.
 */
import type { Mark } from './marks.ts';

/** The marks of one place in an answer, by their first character. */
export type MarkSet = ReadonlyMap<string, readonly Mark[]>;

/** What a character leads to: a mark, the possible beginning of one (nothing), or a plain character and the `rest` to take again. */
export interface Scanned {
  mark?: Mark | undefined;
  plain: string;
  rest: string;
}

const NOTHING: Scanned = { plain: '', rest: '' };

export function markSet(marks: readonly Mark[]): MarkSet {
  return Map.groupBy(marks, ({ literal }) => literal[0] ?? '');
}

/** Takes one character after another. */
export class MarkScanner {
  #held = '';

  /** What may be the beginning of a mark. */
  get held(): string {
    return this.#held;
  }

  /** True for a character that no mark of the set contains at this point. */
  isPlain(set: MarkSet, character: string): boolean {
    return this.#held === '' && !set.has(character);
  }

  scanCharacter(set: MarkSet, character: string): Scanned {
    const held = this.#held + character;
    const possible = set.get(held[0] ?? '') ?? [];
    const mark = possible.find(({ literal }) => literal === held);
    if (mark === undefined && possible.some(({ literal }) => literal.startsWith(held))) {
      this.#held = held;
      return NOTHING;
    }
    this.#held = '';
    return mark === undefined ? { plain: held[0] ?? '', rest: held.slice(1) } : { mark, plain: '', rest: '' };
  }

  /** Releases what is held. */
  release(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }
}
