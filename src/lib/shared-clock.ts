/** A wall clock that several machines share: read from one of them, and carried on by this process's monotonic clock. */

/** The clocks of this machine, in milliseconds. */
export interface OwnClocks {
  /** Epoch milliseconds; may be wrong, and may jump. */
  epochNow: () => number;
  monotonicMs: () => number;
}

/** Its time is good enough for positions and look-backs of minutes: it lags by the way of an answer, and drifts with this machine. */
export class SharedClock {
  readonly #own: OwnClocks;
  /** What to add to the monotonic clock; undefined until the shared time was read. */
  #offset: number | undefined;

  constructor(own: OwnClocks) {
    this.#own = own;
  }

  /** Epoch milliseconds of the shared clock; of this machine's until the shared time was read. Never jumps in between. */
  readonly epochNow = (): number =>
    this.#offset === undefined ? this.#own.epochNow() : this.#offset + this.#own.monotonicMs();

  /** Reads the shared time. Throws what `read` throws. */
  async set(read: () => Promise<number>): Promise<void> {
    const now = await read();
    // Behind by the way of the answer: a time before which something happened is never too late.
    this.#offset = now - this.#own.monotonicMs();
  }
}
