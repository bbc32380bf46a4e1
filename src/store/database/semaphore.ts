/** A semaphore with a maximum waiting time. */
import { StoreError } from '../../contracts/errors.ts';

export interface Semaphore {
  /** Runs `work` when a permit is free. Throws `StoreError('unavailable')` if none becomes free in time. */
  hold<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when no work is running, or after `ms` milliseconds. */
  idle(ms: number): Promise<void>;
}

/** Creates a semaphore with `count` permits; a caller waits at most `timeoutMs` for one, first come, first served. */
export function createSemaphore(count: number, timeoutMs: number): Semaphore {
  let free = count;
  const waiting = new Set<() => void>();
  let whenIdle: (() => void) | undefined;

  const acquire = (): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(enter);
        reject(
          new StoreError('unavailable', `No database connection became free within ${timeoutMs} ms.`, {
            retryable: true,
          }),
        );
      }, timeoutMs);
      const enter = (): void => {
        clearTimeout(timer);
        waiting.delete(enter);
        resolve();
      };
      waiting.add(enter);
    });
  };

  const release = (): void => {
    const next = waiting.values().next();
    if (next.done === true) free += 1;
    else next.value();
    if (free === count) whenIdle?.();
  };

  return {
    async hold(work) {
      await acquire();
      try {
        return await work();
      } finally {
        release();
      }
    },
    async idle(ms) {
      if (free === count) return;
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        whenIdle = resolve;
        timer = setTimeout(resolve, ms);
      });
      clearTimeout(timer);
    },
  };
}
