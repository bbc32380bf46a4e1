/** The text of one turn as people see it: all that its model calls said, joined as their deltas were. */

/** Between the texts of two model calls of one turn; part of the later call's first delta. */
const PARAGRAPH = '\n\n';

/** Grows with the deltas and forgets those of a call that is repeated. */
export class Reply {
  #text = '';
  /** Start of the open call in `#text`, with the paragraph before it; undefined when none is open. */
  #start: number | undefined;

  /** Everything said and not taken back. */
  get text(): string {
    return this.#text;
  }

  /** Text of the open call, without the paragraph before it. */
  get callText(): string {
    const text = this.#text.slice(this.#start ?? this.#text.length);
    return this.#start === 0 ? text : text.slice(PARAGRAPH.length);
  }

  /** True between `openCall` and `closeCall`. */
  get open(): boolean {
    return this.#start !== undefined;
  }

  openCall(): void {
    this.#start = this.#text.length;
  }

  /** Adds text of the open call; gives the delta to show. */
  addText(text: string): string {
    const isFirst = this.#text.length === this.#start;
    const delta = isFirst && this.#text !== '' ? PARAGRAPH + text : text;
    this.#text += delta;
    return delta;
  }

  /** Closes the call; gives its deltas, joined. */
  closeCall(): string {
    const shown = this.#text.slice(this.#start ?? this.#text.length);
    this.#start = undefined;
    return shown;
  }

  /** Takes back what the open call said. */
  discardCall(): void {
    this.#text = this.#text.slice(0, this.#start);
    this.#start = undefined;
  }

  /** Takes back everything. */
  discardAll(): void {
    this.#start = 0;
    this.discardCall();
    this.#text = '';
  }

  /** A whole text at once: an answer from the journal. */
  addCall(text: string): string {
    this.openCall();
    if (text !== '') this.addText(text);
    return this.closeCall();
  }
}
