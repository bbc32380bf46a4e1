/**
 * Finds marks in a text that arrives in pieces, character by character, holding back only the possible beginning of a
 * mark.
 */
import type { Mark } from './marks.ts';

/** The marks of one place in an answer, as a tree of their characters. No mark begins with another one. */
export interface MarkSet {
  mark: Mark | undefined;
  readonly next: ReadonlyMap<string, MarkSet>;
}

/** What a character leads to: a mark, the possible beginning of one (nothing), or a plain character and the `rest` to take again. */
export interface Scanned {
  mark?: Mark | undefined;
  plain: string;
  rest: string;
}

const NOTHING: Scanned = { plain: '', rest: '' };

interface GrowingSet {
  mark: Mark | undefined;
  next: Map<string, GrowingSet>;
}

/** Of two marks with the same text, the first counts. */
export function markSet(marks: readonly Mark[]): MarkSet {
  const root: GrowingSet = { mark: undefined, next: new Map() };
  for (const mark of marks) {
    let node = root;
    for (const character of mark.literal.split('')) {
      const next = node.next.get(character) ?? { mark: undefined, next: new Map() };
      node.next.set(character, next);
      node = next;
    }
    node.mark ??= mark;
  }
  return root;
}

/** Takes one character after another. */
export class MarkScanner {
  #held = '';
  #node: MarkSet | undefined;

  /** What may be the beginning of a mark. */
  get held(): string {
    return this.#held;
  }

  /** True for a character that no mark of the set contains at this point. */
  isPlain(set: MarkSet, character: string): boolean {
    return this.#held === '' && !set.next.has(character);
  }

  scanCharacter(set: MarkSet, character: string): Scanned {
    const node = (this.#node ?? set).next.get(character);
    const held = this.#held + character;
    if (node !== undefined && node.mark === undefined) {
      this.#held = held;
      this.#node = node;
      return NOTHING;
    }
    this.release();
    return node?.mark === undefined
      ? { plain: held[0] ?? '', rest: held.slice(1) }
      : { mark: node.mark, plain: '', rest: '' };
  }

  /** Releases what is held. */
  release(): string {
    const held = this.#held;
    this.#held = '';
    this.#node = undefined;
    return held;
  }
}
