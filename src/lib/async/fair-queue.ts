/**
 * A concurrency limit that is fair over keys: waiting callers take turns by key, no matter how many wait under one key.
 */

export interface FairQueue {
  readonly running: number;
  readonly waiting: number;
  /**
   * Waits for a slot and returns the function that frees it (calling it twice is harmless); undefined when `maxWaiting`
   * callers already wait. `onWait` is called once, before the wait, with the most callers that can be ahead. Rejects
   * with the signal's reason.
   */
  enter(
    key: string,
    signal: AbortSignal,
    onWait?: (ahead: number) => void,
  ): Promise<(() => void) | undefined>;
}

/** Makes a queue in which `limit` run and at most `maxWaiting` wait. */
export function createFairQueue(limit: number, maxWaiting: number): FairQueue {
  /** Keys in the order of their next turn, each with its waiters, oldest first. */
  const turns = new Map<string, Set<() => void>>();
  let running = 0;
  let waiting = 0;

  const occupy = (): (() => void) => {
    running += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      running -= 1;
      callNext();
    };
  };

  const leaveLine = (key: string, start: () => void): void => {
    const line = turns.get(key);
    if (line?.delete(start) !== true) return;
    waiting -= 1;
    if (line.size === 0) turns.delete(key);
  };

  const callNext = (): void => {
    const [key, line] = turns.entries().next().value ?? [];
    const start = line?.values().next().value;
    if (key === undefined || line === undefined || start === undefined) return;
    leaveLine(key, start);
    // The key goes to the end of the round, so that the next slot goes to another key.
    if (turns.delete(key)) turns.set(key, line);
    start();
  };

  return {
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
    async enter(key, signal, onWait) {
      signal.throwIfAborted();
      if (running < limit) return occupy();
      if (waiting >= maxWaiting) return undefined;
      const place = Promise.withResolvers<() => void>();
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        place.resolve(occupy());
      };
      const giveUp = (): void => {
        leaveLine(key, start);
        place.reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const line = turns.get(key) ?? new Set();
      turns.set(key, line.add(start));
      onWait?.(waiting);
      waiting += 1;
      return place.promise;
    },
  };
}
