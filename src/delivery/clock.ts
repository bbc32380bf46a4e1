/** Time as an argument: what delivery waits by, so that a test can turn the hands itself. */

export interface Clock {
  /** Milliseconds from any fixed point; never jumps back. */
  now(): number;
  /** Runs `then` once, `ms` from now; gives the way to call it off. */
  after(ms: number, then: () => void): () => void;
}

/** The machine's monotonic clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};
