/** The history of a schedule: what became of its slots, and in which words. Pure. */
import type { NewScheduleRun, ScheduleRecord, ScheduleRun, ScheduleTurn } from '../contracts/schedules.ts';
import { nextSlot } from './timing.ts';

/** Missed slots of a cron line that are counted one by one. */
export const MAX_COUNTED = 1_000;

const STATES: Record<Exclude<ScheduleTurn['state'], 'done'>, string> = {
  queued: 'waits in its chat',
  running: 'still running',
  parked: 'waits for a decision',
};
const ENDINGS: Record<string, string> = {
  stopped: 'stopped by a person',
  failed: 'failed; its trace says why',
  max_iterations: 'ended at the most steps that a turn may take',
  interrupted: 'interrupted by a newer message',
  joined: 'answered together with another message',
};

/** How a run ended, in a few words; its own reason where it did not begin. */
export function resultOf({ outcome, why, turn }: ScheduleRun): string {
  if (outcome === 'skipped') return `skipped: ${why}`;
  if (outcome !== 'begun') return why ?? outcome;
  if (turn === undefined) return 'begun; its turn has been deleted';
  if (turn.state !== 'done') return STATES[turn.state];
  return ENDINGS[turn.reason ?? ''] ?? turn.reason ?? 'ended';
}

/**
 * The slots after the due one that have passed while no gateway ran, as one run; none where none has passed. Throws
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
  const runs =
    count === 1 ? 'One run was' : `${count > MAX_COUNTED ? `More than ${MAX_COUNTED}` : count} runs were`;
  const why = `${runs} missed because no gateway ran at the time; of missed runs only the first is made up for.`;
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
