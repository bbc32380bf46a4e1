/** The slots of a fake Ollama's model: OLLAMA_NUM_PARALLEL calls run, OLLAMA_MAX_QUEUE wait, the rest are refused. */
import type { ServerResponse } from 'node:http';

export interface RequestSlots {
  readonly active: number;
  readonly peak: number;
  readonly full: boolean;
  /** Waits for a slot, which is released when the response closes; false if the caller left first. */
  acquire(response: ServerResponse): Promise<boolean>;
}

/** Creates slots for `parallel` calls at once and `maxQueue` waiting ones. */
export function createRequestSlots(parallel: number, maxQueue: number): RequestSlots {
  const waiting: (() => void)[] = [];
  let active = 0;
  let peak = 0;
  const occupy = (response: ServerResponse): boolean => {
    active += 1;
    peak = Math.max(peak, active);
    response.once('close', () => {
      active -= 1;
      waiting.shift()?.();
    });
    return true;
  };
  return {
    get active() {
      return active;
    },
    get peak() {
      return peak;
    },
    get full() {
      return active >= parallel && waiting.length >= maxQueue;
    },
    async acquire(response) {
      if (response.destroyed) return false;
      if (active < parallel) return occupy(response);
      const acquired = Promise.withResolvers<boolean>();
      const start = (): void => acquired.resolve(occupy(response));
      waiting.push(start);
      response.once('close', () => {
        const index = waiting.indexOf(start);
        if (index >= 0) waiting.splice(index, 1);
        acquired.resolve(false);
      });
      return acquired.promise;
    },
  };
}
