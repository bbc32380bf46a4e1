/** What a filter remembers between two characters of an answer. */
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import type { MakeToolCall, OfferedTools, TextCall } from '../answers/tool-calls.ts';
import { readMarkedCalls } from './text-calls.ts';
import { type Place, START, TEXT } from './places.ts';

/** How much is kept at least, in UTF-16 units. */
const KEPT_CHARS = 64 * 1024;

class ThoughtTail {
  #pieces: string[] = [];
  #chars = 0;

  /** Takes more of the thought; of a long one only the end is kept, at least `KEPT_CHARS`. */
  add(text: string): void {
    this.#pieces.push(text);
    this.#chars += text.length;
    if (this.#chars <= 2 * KEPT_CHARS) return;
    this.#pieces = [this.#pieces.join('').slice(-KEPT_CHARS)];
    this.#chars = KEPT_CHARS;
  }

  get text(): string {
    return this.#pieces.join('');
  }
}

export class FilteredOutput {
  readonly offered: OfferedTools;
  readonly tail = new ThoughtTail();
  readonly #makeCall: MakeToolCall;
  #chunks: ChatChunk[] = [];
  hasText = false;
  /** More than blanks. */
  hasWords = false;
  hasThought = false;
  hasCalls = false;

  constructor(offered: OfferedTools, makeCall: MakeToolCall) {
    this.offered = offered;
    this.#makeCall = makeCall;
  }

  /** Nothing of the answer itself was found yet. */
  get isFirst(): boolean {
    return !this.hasText && !this.hasThought && !this.hasCalls;
  }

  push(chunk: ChatChunk): void {
    this.#chunks.push(chunk);
  }

  text(delta: string): void {
    if (delta === '') return;
    this.hasText = true;
    this.hasWords ||= /\S/.test(delta);
    this.#join('text', delta);
  }

  thinking(delta: string): void {
    this.tail.add(delta);
    if (delta !== '') this.#join('thinking', delta);
  }

  calls(calls: readonly TextCall[]): void {
    this.hasCalls ||= calls.length > 0;
    for (const call of calls) this.#chunks.push({ type: 'tool_call', call: this.#makeCall(call) });
  }

  /** Adds the calls between two marks (true), or their text; empty special tokens and leftovers are dropped. */
  markedCalls(block: string, begin: string, end: string): boolean {
    const inside = block.slice(begin.length, block.length - end.length);
    const calls = readMarkedCalls(block, begin.trimStart(), inside, this.offered);
    if (calls !== undefined) this.calls(calls);
    else if (inside.trim() !== '' || !(this.hasCalls || begin.trimStart().startsWith('<|'))) {
      this.text(block);
      return false;
    }
    return true;
  }

  /** The chunks since the last time. */
  takeChunks(): ChatChunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  #join(type: 'text' | 'thinking', delta: string): void {
    const last = this.#chunks.at(-1);
    if (last?.type === type) this.#chunks[this.#chunks.length - 1] = { type, delta: last.delta + delta };
    else this.#chunks.push({ type, delta });
  }
}

/** The longest text held back because it may be a tool call, in UTF-16 units; a longer one is text. */
export const MAX_HELD_CALL = 64 * 1024;
/** The longest run of blanks, marks or a header held back, in UTF-16 units; a longer one is text. */
export const MAX_HELD_MARKS = 1_024;

export class FilterState {
  readonly out: FilteredOutput;
  /** Of the model: it may begin in a thought without a mark. */
  readonly habits: { startsInThought: boolean };
  place: Place = START;
  /** Backticks in a row just before, and the character before them. */
  ticks = 0;
  beforeTicks = '';
  /** The last character of the answer; empty at its beginning and after a mark. */
  previous = '';
  /** The character before the mark that is being read. */
  beforeMark = '';
  speaksOfMarkup = false;
  /** What ends the text of the answer, if its beginning was marked. */
  wrapperEnd = '';
  /** The model continued past the end of its own turn. */
  over = false;
  /** In pieces that are joined once. */
  #held: string[] = [];
  #heldChars = 0;

  constructor(out: FilteredOutput, habits: FilterState['habits']) {
    this.out = out;
    this.habits = habits;
  }

  get isHolding(): boolean {
    return this.#heldChars > 0;
  }

  /** Holds text back. More than `max` cannot be markup: all of it is text. */
  hold(text: string, max = Infinity): void {
    this.#held.push(text);
    this.#heldChars += text.length;
    if (this.#heldChars > max) this.giveUp();
  }

  /** Returns what was held and stops holding it. */
  release(): string {
    const text = this.#held.join('');
    this.#held = [];
    this.#heldChars = 0;
    return text;
  }

  /** What was held is text. */
  giveUp(): void {
    // Only an answer about markup has marks that mean nothing.
    this.speaksOfMarkup ||= this.place.at === 'calls';
    this.out.text(this.release());
    this.place = TEXT;
  }
}
