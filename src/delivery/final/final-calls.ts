/** The calls of one delivery, which records in its lane when it waits for the platform's limits. */
import { ChannelError, toGatewayError } from '../../protocol/errors.ts';
import { type LaneHead, type LaneStore, waitNotedAfterMs } from '../../protocol/store/lanes.ts';
import type { Log } from '../../protocol/log.ts';
import { LastingNote } from '../../lib/async/lasting-note.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CallTarget, Scheduler } from '../rate/scheduler.ts';

/** Makes a call that must happen, like `Scheduler.final`. Throws the errors of that, `FencedError`, `StoreError`. */
export type FinalCall = <T>(target: CallTarget, call: () => Promise<T>) => Promise<T>;

interface FinalCallsDeps {
  lanes: Pick<LaneStore, 'noteWaiting'>;
  clock: Clock;
  log: Log;
}

/**
 * The calls of the delivery `head`. A crash while it waits for limits has other causes, and during the wait other
 * suspects can be tried: both are recorded in its lane. A short wait of a delivery that is not a suspect is not
 * recorded.
 */
export function finalCalls(
  scheduler: Pick<Scheduler, 'final'>,
  { head, signal }: { head: LaneHead; signal: AbortSignal },
  { lanes, clock, log }: FinalCallsDeps,
): FinalCall {
  const waits = new LastingNote({
    clock,
    afterMs: waitNotedAfterMs(head),
    write: (isWaiting) => lanes.noteWaiting(head, isWaiting),
    onFailed: (error) => log.info({ lane: head.lane, err: toGatewayError(error) }, 'waiting_not_noted'),
  });
  return async (target, call) => {
    const working = async () => {
      await waits.end();
      try {
        return await call();
      } catch (error) {
        if (error instanceof ChannelError && error.code === 'rate_limited') waits.begin();
        throw error;
      }
    };
    waits.begin();
    try {
      return await scheduler.final(target, working, signal);
    } finally {
      await waits.end();
    }
  };
}
