/** Time as an argument: code that waits or measures is passed a clock, so that tests control the time. */

export interface Clock {
  /** Epoch milliseconds, for what people read. */
  epochMs(): number;
  /** Milliseconds that never jump back, for durations: leases and waits do not follow clock changes. */
  monotonicMs(): number;
  /** Runs `then` once, `ms` from now; returns the function that cancels it. */
  after(ms: number, then: () => void): () => void;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits `ms` of the clock, or until the signal aborts, whichever comes first. Never rejects. */
export async function pauseOn(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const stop = (): void => resolve();
  signal.addEventListener('abort', stop, { once: true });
  await promise;
  cancel();
  signal.removeEventListener('abort', stop);
}

/** True for a name that this Node knows: `Europe/Berlin`, `UTC`. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The clocks of this machine, in milliseconds. */
interface OwnClocks {
  /** Epoch milliseconds; may be wrong, and may jump. */
  epochNow: () => number;
  monotonicMs: () => number;
}

/** Its time is good enough for positions and look-backs of minutes: it lags by the way of an answer, and drifts with this machine. */
export class SharedClock {
  readonly #own: OwnClocks;
  /** What to add to the monotonic clock; undefined until the shared time was read. */
  #offset: number | undefined;

  constructor(clocks: OwnClocks) {
    this.#own = clocks;
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
