/** Time as an argument: code that waits or measures is passed a clock, so that tests control the time. */

export interface Clock {
  /** Epoch milliseconds, for what people read. */
  epochMs(): number;
  /**
   * Milliseconds from an arbitrary fixed point that never jump back, for durations: leases and waits do not follow
   * clock changes.
   */
  monotonicMs(): number;
  /** Runs `then` once, `ms` from now; returns the function that cancels it. */
  after(ms: number, then: () => void): () => void;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, then) {
    const timer = setTimeout(then, ms);
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
