/** Tasks with the same key run one after another, in the order they arrived; tasks with different keys do not wait. */
export class KeyedLock {
  /** The end of the last task of each key that is running or waiting. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Runs `task` when its turn comes. Throws the signal's reason when it aborts before, else what `task` throws. */
  async run<T>(key: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    const previous = this.#ends.get(key);
    const turn = Promise.withResolvers<void>();
    // A task that gives up while waiting must not let the next one overtake those before it.
    const end = previous === undefined ? turn.promise : previous.then(() => turn.promise);
    this.#ends.set(key, end);
    try {
      if (previous !== undefined) await untilAborted(previous, signal);
      return await task();
    } finally {
      turn.resolve();
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  /** Keys with a running or waiting task. */
  get size(): number {
    return this.#ends.size;
  }
}

/** Waits for `done`. Throws the signal's reason when it aborts first. */
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
