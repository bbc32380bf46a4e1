/** Tasks with the same key run one after another, in the order they arrived; tasks with different keys do not wait. */
export class KeyedLock {
  /** The end of the last task of each key that is running or waiting. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Runs `task` when its turn comes. Throws the signal's reason when it aborts before, else what `task` throws. */
  async run<T>(key: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    const before = this.#ends.get(key);
    const own = Promise.withResolvers<void>();
    // A task that gives up while waiting must not let the next one overtake those before it.
    const end = before === undefined ? own.promise : before.then(() => own.promise);
    this.#ends.set(key, end);
    try {
      if (before !== undefined) await untilAborted(before, signal);
      return await task();
    } finally {
      own.resolve();
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  /** Keys with a running or waiting task. */
  get size(): number {
    return this.#ends.size;
  }
}

/** Waits for `done`. Throws the signal's reason when it aborts first. */
async function untilAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([done, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
