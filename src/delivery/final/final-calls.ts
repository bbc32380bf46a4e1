/** The calls of one delivery: those of a suspected one say when they only wait for the platform's limits. */
import { ChannelError } from '../../contracts/errors.ts';
import { SUSPECT_CRASHES } from '../../contracts/store/lanes.ts';
import type { LaneHead, LaneStore } from '../../contracts/store/lanes.ts';
import type { CallTarget, Scheduler } from '../rate/scheduler.ts';

/** Makes a call that must happen, as `Scheduler.final` does. Throws what that throws, `FencedError`, `StoreError`. */
export type FinalCall = <T>(target: CallTarget, call: () => Promise<T>) => Promise<T>;

/**
 * The calls of the delivery `head`. A crash during its waits for limits has other causes, and while it waits, other suspects
 * can be tried: both are noted in its lane. What is under no suspicion costs no note.
 */
export function finalCalls(
  scheduler: Pick<Scheduler, 'final'>,
  { head, lanes, signal }: { head: LaneHead; lanes: Pick<LaneStore, 'noteWaiting'>; signal: AbortSignal },
): FinalCall {
  if (head.crashes < SUSPECT_CRASHES) return (target, call) => scheduler.final(target, call, signal);
  return async (target, call) => {
    await lanes.noteWaiting(head, true);
    const noted = async () => {
      await lanes.noteWaiting(head, false);
      try {
        return await call();
      } catch (error) {
        if (error instanceof ChannelError && error.code === 'rate_limited')
          await lanes.noteWaiting(head, true);
        throw error;
      }
    };
    return await scheduler.final(target, noted, signal);
  };
}
