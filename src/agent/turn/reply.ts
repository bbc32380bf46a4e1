/** The text of a turn as users see it: the texts of its model calls, joined. */

/** Separates the texts of two model calls of a turn; part of the first delta of the second call. */
const PARAGRAPH = '\n\n';

/** Collects the deltas of a turn, and drops those of a call that is repeated. */
export class Reply {
  #text = '';
  /** Start of the open call in `#text`, with the paragraph before it; undefined when none is open. */
  #start: number | undefined;

  /** The whole text so far. */
  get text(): string {
    return this.#text;
  }

  /** Text of the open call, without the paragraph before it. */
  get callText(): string {
    const text = this.#text.slice(this.#start ?? this.#text.length);
    return this.#start === 0 ? text : text.slice(PARAGRAPH.length);
  }

  /** Length of `callText`. */
  get callLength(): number {
    const length = this.#text.length - (this.#start ?? this.#text.length);
    return this.#start === 0 ? length : Math.max(0, length - PARAGRAPH.length);
  }

  /** True between `openCall` and `closeCall`. */
  get open(): boolean {
    return this.#start !== undefined;
  }

  openCall(): void {
    this.#start = this.#text.length;
  }

  /** Adds text to the open call; returns the delta to show. */
  addText(text: string): string {
    const isFirst = this.#text.length === this.#start;
    const delta = isFirst && this.#text !== '' ? PARAGRAPH + text : text;
    this.#text += delta;
    return delta;
  }

  /** Closes the call; returns its deltas, joined. */
  closeCall(): string {
    const deltas = this.#text.slice(this.#start ?? this.#text.length);
    this.#start = undefined;
    return deltas;
  }

  /** Drops the text of the open call and closes it. */
  discardCall(): void {
    this.#text = this.#text.slice(0, this.#start);
    this.#start = undefined;
  }

  /** Drops everything. */
  discardAll(): void {
    this.#start = 0;
    this.discardCall();
    this.#text = '';
  }

  /** Adds a whole call at once; returns its delta. */
  addCall(text: string): string {
    this.openCall();
    if (text !== '') this.addText(text);
    return this.closeCall();
  }
}
