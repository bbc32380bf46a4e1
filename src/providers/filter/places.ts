/** The places in an answer that its filter distinguishes, and the marks that count in each. */
import {
  AFTER_TURN,
  AT_LINE,
  AT_START,
  END_OF_HEADER,
  ENDS_OF_MESSAGE,
  ENDS_OF_THOUGHT,
  IN_TEXT,
  type Mark,
} from './marks.ts';
import type { Candidate } from './candidates.ts';
import type { TextCall } from '../answers/tool-calls.ts';

/** The marks of one place in an answer, as a tree of their characters. No mark begins with another one. */
interface MarkSet {
  mark: Mark | undefined;
  readonly next: Map<string, MarkSet>;
}

/** What a character leads to: a mark, the possible beginning of one (nothing), or a plain character and the `rest` to take again. */
interface Scanned {
  mark?: Mark | undefined;
  plain: string;
  rest: string;
}

const NOTHING: Scanned = { plain: '', rest: '' };

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
    const text = this.#held + character;
    if (node !== undefined && node.mark === undefined) {
      this.#held = text;
      this.#node = node;
      return NOTHING;
    }
    this.release();
    return node?.mark === undefined
      ? { plain: text[0] ?? '', rest: text.slice(1) }
      : { mark: node.mark, plain: '', rest: '' };
  }

  release(): string {
    const text = this.#held;
    this.#held = '';
    this.#node = undefined;
    return text;
  }
}

/** Where in the answer the filter is. */
export type Place =
  /** Only blanks so far, or since a thought or a call. */
  | { at: 'start' }
  | { at: 'text' }
  /** In code that began with this many backticks. */
  | { at: 'code'; ticks: number }
  /** `implicit`: the model began in it without a mark. */
  | { at: 'thought'; set: MarkSet; implicit: boolean; begun: boolean }
  /** After what may end a thought that the template began; `before` is the character before it. */
  | { at: 'after_thought'; before: string; literal: string }
  | CallsPlace
  /** What may be calls, up to its own end. */
  | { at: 'candidate'; candidate: Candidate; chars: number }
  /** After a fence that holds calls: they count if nothing follows. */
  | { at: 'after_fence'; calls: readonly TextCall[] }
  | { at: 'after_turn' }
  | { at: 'header' };

/** What may be calls, up to a mark, or where a bracket closes. */
export interface CallsPlace {
  at: 'calls';
  set: MarkSet;
  /** The mark that began them. */
  begin: string;
  /** Their first characters, until these show that they may be calls. */
  head?: string | undefined;
  /** Takes each character; true where they end. */
  closes?: ((character: string) => boolean) | undefined;
  /** The recipient of a harmony message. */
  name?: string;
}

export const START: Place = { at: 'start' };
export const TEXT: Place = { at: 'text' };

const AT_START_SET = markSet(AT_START);
const IN_TEXT_SET = markSet(IN_TEXT);
const AT_LINE_SET = markSet(AT_LINE);
const AFTER_TURN_SET = markSet(AFTER_TURN);
const HEADER_SET = markSet(END_OF_HEADER);
const NO_MARKS = markSet([]);
/** Ends of a thought that the template began. */
export const TEMPLATE_SET = markSet(ENDS_OF_THOUGHT);
/** Ends of a harmony message. */
export const MESSAGE_SET = markSet(
  ENDS_OF_MESSAGE.map((literal) => ({
    kind: /start|channel/.test(literal) ? 'header' : 'end_of_turn',
    literal,
  })),
);

/** The set of marks that end a thought or calls, made once each. */
const endSets = new Map<string, MarkSet>();

/** The marks that end what `mark` starts. */
export function endsOf(mark: Mark & { until: readonly string[] }): MarkSet {
  const cached = endSets.get(mark.literal);
  if (cached !== undefined) return cached;
  const kind = mark.kind === 'thought' ? 'end_of_thought' : 'end_of_calls';
  const set = markSet(mark.until.map((literal) => ({ kind, literal })));
  endSets.set(mark.literal, set);
  return set;
}

/** The marks that count in a place; `previous` is the last character before. */
export function marksIn(place: Place, previous: string): MarkSet {
  switch (place.at) {
    case 'start':
      return AT_START_SET;
    case 'text':
      return previous === '' || previous === '\n' ? AT_LINE_SET : IN_TEXT_SET;
    case 'thought':
    case 'calls':
      return place.set;
    case 'after_turn':
    case 'after_fence':
      return AFTER_TURN_SET;
    case 'header':
      return HEADER_SET;
    default:
      return NO_MARKS;
  }
}

/** Of two marks with the same text, the first counts. */
function markSet(marks: readonly Mark[]): MarkSet {
  const root: MarkSet = { mark: undefined, next: new Map() };
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
