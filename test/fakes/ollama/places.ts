/** The places of a fake Ollama's model: OLLAMA_NUM_PARALLEL calls run, OLLAMA_MAX_QUEUE wait, the rest are refused. */
import type { ServerResponse } from 'node:http';

export interface Places {
  readonly active: number;
  readonly peak: number;
  readonly full: boolean;
  /** Waits for a place, which is given back when the response closes; false when the caller left first. */
  take(response: ServerResponse): Promise<boolean>;
}

export function createConcurrencyLimit(parallel: number, maxQueue: number): Places {
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
    async take(response) {
      if (response.destroyed) return false;
      if (active < parallel) return occupy(response);
      const turn = Promise.withResolvers<boolean>();
      const myTurn = (): void => turn.resolve(occupy(response));
      waiting.push(myTurn);
      response.once('close', () => {
        const place = waiting.indexOf(myTurn);
        if (place >= 0) waiting.splice(place, 1);
        turn.resolve(false);
      });
      return turn.promise;
    },
  };
}
