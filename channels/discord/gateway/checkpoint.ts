/**
 * How far the events of a session are stored: the point from which another process can continue it without missing
 * any.
 */

/** Everything up to `sequence` is stored, and everything that was dispatched before `heardAt` (epoch milliseconds). */
export interface Position {
  sequence: number;
  heardAt: number | undefined;
}

/**
 * Events arrive in order and are stored in any order: the position is just before the oldest one that is not stored
 * yet. Holds no more than the inbox, whose chats and messages are bounded.
 */
export class Checkpoint {
  #sequence: number;
  #heardAt: number | undefined;
  /** Positions before the events that are not stored yet, in order of arrival. */
  readonly #open = new Map<number, Position>();

  constructor(start: Position) {
    this.#sequence = start.sequence;
    this.#heardAt = start.heardAt;
  }

  get position(): Position {
    const [oldest] = this.#open.values();
    return oldest ?? { sequence: this.#sequence, heardAt: this.#heardAt };
  }

  /** An event has arrived; call the result once it is stored. */
  arrive(sequence: number): () => void {
    this.#open.set(sequence, { sequence: sequence - 1, heardAt: this.#heardAt });
    this.#sequence = Math.max(this.#sequence, sequence);
    return () => {
      this.#open.delete(sequence);
    };
  }

  /** Everything that was dispatched before `at` has arrived. */
  heard(at: number): void {
    this.#heardAt = Math.max(this.#heardAt ?? at, at);
  }
}
