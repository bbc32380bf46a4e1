/** The end of what a model has thought: some call a tool there, and say nothing more. */
import { MAX_HELD_CALL } from './filter-state.ts';

export class ThoughtTail {
  #pieces: string[] = [];
  #chars = 0;

  /** Takes more of the thought; of a long one only the end is kept, at least `MAX_HELD_CALL` characters. */
  add(text: string): void {
    this.#pieces.push(text);
    this.#chars += text.length;
    if (this.#chars <= 2 * MAX_HELD_CALL) return;
    this.#pieces = [this.#pieces.join('').slice(-MAX_HELD_CALL)];
    this.#chars = MAX_HELD_CALL;
  }

  get text(): string {
    return this.#pieces.join('');
  }
}
