/** The end of what a model has thought: some call a tool there, and say nothing more. */

/** How much is kept at least, in UTF-16 units. */
const KEPT_CHARS = 64 * 1024;

export class ThoughtTail {
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
