/** The text of one turn as people see it: all that its model calls said, joined as their deltas were. */

/** Between the texts of two model calls of one turn; part of the later call's first delta. */
const PARAGRAPH = '\n\n';

/** Grows with the deltas and forgets those of a call that is repeated. */
export class Reply {
  #text = '';
  /** Where the open call began in `#text`; undefined when none is open. */
  #start: number | undefined;
  #callText = '';

  /** Everything said and not taken back. */
  get text(): string {
    return this.#text;
  }

  /** What the open call has said, without the paragraph before it. */
  get callText(): string {
    return this.#callText;
  }

  /** True between `begin` and `end`. */
  get open(): boolean {
    return this.#start !== undefined;
  }

  begin(): void {
    this.#start = this.#text.length;
    this.#callText = '';
  }

  /** Adds words of the open call; gives the delta to show. */
  add(words: string): string {
    const delta = this.#callText === '' && this.#text !== '' ? PARAGRAPH + words : words;
    this.#callText += words;
    this.#text += delta;
    return delta;
  }

  /** Closes the call; gives its deltas, joined. */
  end(): string {
    const shown = this.#text.slice(this.#start ?? this.#text.length);
    this.#start = undefined;
    this.#callText = '';
    return shown;
  }

  /** Takes back what the open call said. */
  reset(): void {
    this.#text = this.#text.slice(0, this.#start);
    this.#start = undefined;
    this.#callText = '';
  }

  /** Takes back everything. */
  forget(): void {
    this.#start = 0;
    this.reset();
    this.#text = '';
  }

  /** A whole text at once: an answer from the journal. */
  say(text: string): string {
    this.begin();
    if (text !== '') this.add(text);
    return this.end();
  }
}
