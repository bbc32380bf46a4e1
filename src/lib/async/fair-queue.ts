/** A concurrency limit that is fair over keys: waiting callers take turns by key. */

export interface FairQueue {
  readonly running: number;
  readonly waiting: number;
  /**
   * Waits for a slot and returns the function that frees it; undefined if `maxWaiting` callers already wait. `onWait` is
   * called once, before the wait, with the most callers that can be ahead. Rejects with the signal's reason.
   */
  enter(
    key: string,
    signal: AbortSignal,
    onWait?: (ahead: number) => void,
  ): Promise<(() => void) | undefined>;
}

/** Makes a queue in which `limit` run and at most `maxWaiting` wait. */
export function createFairQueue(limit: number, maxWaiting: number): FairQueue {
  const waiters = new Waiters();
  let running = 0;
  const occupy = (): (() => void) => {
    running += 1;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      running -= 1;
      waiters.callNext();
    };
  };
  return {
    get running() {
      return running;
    },
    get waiting() {
      return waiters.count;
    },
    async enter(key, signal, onWait) {
      signal.throwIfAborted();
      if (running < limit) return occupy();
      if (waiters.count >= maxWaiting) return undefined;
      const place = Promise.withResolvers<() => void>();
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        place.resolve(occupy());
      };
      const giveUp = (): void => {
        waiters.leave(key, start);
        place.reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const ahead = waiters.count;
      waiters.add(key, start);
      // Last, because it may abort the signal: then the caller leaves the line that it has joined.
      onWait?.(ahead);
      return place.promise;
    },
  };
}

/** Callers that wait, each as the function that starts it. */
class Waiters {
  /** Keys in the order of their next turn, each with its waiters, oldest first. */
  readonly #turns = new Map<string, Set<() => void>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(key: string, start: () => void): void {
    const line = this.#turns.get(key) ?? new Set();
    this.#turns.set(key, line.add(start));
    this.#count += 1;
  }

  leave(key: string, start: () => void): void {
    const line = this.#turns.get(key);
    if (line?.delete(start) !== true) return;
    this.#count -= 1;
    if (line.size === 0) this.#turns.delete(key);
  }

  /** Starts the oldest waiter of the key whose turn it is. */
  callNext(): void {
    const [key, line] = this.#turns.entries().next().value ?? [];
    const start = line?.values().next().value;
    if (key === undefined || line === undefined || start === undefined) return;
    this.leave(key, start);
    // The key goes to the end of the round, so that the next slot goes to another key.
    if (this.#turns.delete(key)) this.#turns.set(key, line);
    start();
  }
}
