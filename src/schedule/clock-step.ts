/**
 * Cron lines after the clock was set back: those that repeat within that time continue, and do not wait until it has
 * passed.
 */
import { GatewayError } from '../contracts/errors.ts';
import type { ScheduleRecord, ScheduleStore } from '../contracts/schedules.ts';
import { nextSlot } from './timing.ts';

/**
 * Moves the slots of such schedules to the next one from now. A slot that occurs once in that time, such as a daily
 * one, has already run and stays where it is. Throws only `StoreError`.
 */
export async function followClockBack(
  store: Pick<ScheduleStore, 'aheadOfClock' | 'advanceSchedule'>,
): Promise<void> {
  for (const schedule of await store.aheadOfClock()) {
    const next = earlierSlot(schedule);
    if (next !== undefined) await store.advanceSchedule(schedule.id, schedule.nextAt, new Date(next));
  }
}

/** The next slot from now, if more than one lies before the planned one. */
function earlierSlot({ timing, nextAt, now }: ScheduleRecord & { nextAt: Date; now: Date }) {
  try {
    const first = nextSlot(timing, now.getTime());
    const second = first === undefined ? undefined : nextSlot(timing, first);
    return second !== undefined && second < nextAt.getTime() ? first : undefined;
  } catch (error) {
    // A line that cannot be read is switched off when its slot is due.
    if (error instanceof GatewayError && error.code === 'bad_schedule') return undefined;
    throw error;
  }
}
