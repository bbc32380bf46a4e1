/** The history of a schedule: what became of its slots, and how that is worded. Pure. */
import type { NewScheduleRun, ScheduleRecord, ScheduleRun } from '../protocol/schedules.ts';
import { inEnglish, isTextKey, type Say, textRef } from '../protocol/texts/say.ts';
import { nextSlot } from './timing.ts';

/** Missed slots of a cron line that are counted one by one. */
export const MAX_COUNTED = 1_000;

/** How a run ended, in a few words, in English or worded by `say`; its own reason if it did not start. */
export function resultOf({ outcome, why, turn }: ScheduleRun, say: Say = inEnglish): string {
  const reason = typeof why === 'object' ? say.text(why) : (why ?? outcome);
  if (outcome === 'skipped') return say('schedule.run_skipped', { why: reason });
  if (outcome !== 'begun') return reason;
  if (turn === undefined) return say('schedule.run_deleted');
  if (turn.state !== 'done') return say(`schedule.run_${turn.state}`);
  const key = `schedule.run_${turn.reason ?? 'ended'}`;
  return isTextKey(key) ? say.text({ key }) : (turn.reason ?? '');
}

/**
 * The slots after the due one that passed while no gateway was running, as one run; none if none has passed. Throws
 * `GatewayError('bad_schedule')` for a timing that cannot be read.
 */
export function missedRuns({
  timing,
  nextAt,
  now,
}: Pick<ScheduleRecord, 'timing'> & { nextAt: Date; now: Date }): NewScheduleRun[] {
  const first = nextSlot(timing, nextAt.getTime());
  if (first === undefined || first > now.getTime()) return [];
  const count = countSlots(timing, first, now.getTime());
  const why =
    count > MAX_COUNTED
      ? textRef('schedule.why_missed_many', { most: MAX_COUNTED })
      : textRef('schedule.why_missed', { count });
  return [{ outcome: 'missed', dueAt: new Date(first), why }];
}

/** Slots from `first` to `now`; one more than `MAX_COUNTED` when a cron line has more. */
function countSlots(timing: ScheduleRecord['timing'], first: number, now: number): number {
  if (timing.kind === 'every') return Math.floor((now - first) / timing.everyMs) + 1;
  let count = 0;
  for (let at: number | undefined = first; at !== undefined && at <= now; at = nextSlot(timing, at)) {
    count += 1;
    if (count > MAX_COUNTED) break;
  }
  return count;
}
