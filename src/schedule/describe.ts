/** Formats schedules and times for users and the model. */
import { isTimeZone } from '../lib/clock.ts';
import type { NewScheduleRun, ScheduleRecord, ScheduleRun, ScheduleTiming } from '../protocol/schedules.ts';
import { inEnglish, isTextKey, type Say, textRef } from '../protocol/texts/say.ts';
import { nextSlot } from './timing.ts';

/** Longest part of a task shown in a line, in UTF-16 units. */
const SHOWN_TASK = 120;

/** `2026-12-01 09:00 (Europe/Berlin)`; with seconds when they are not zero, in UTC when the zone is unknown. Never throws. */
export function momentIn(at: number, zone: string): string {
  const timeZone = isTimeZone(zone) ? zone : 'UTC';
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const seconds = parts['second'] === '00' ? '' : `:${parts['second']}`;
  return `${parts['year']}-${parts['month']}-${parts['day']} ${parts['hour']}:${parts['minute']}${seconds} (${timeZone})`;
}

/** One line with the timing, the next run and the task. `timeZone` is that of the gateway. */
export function describeSchedule(schedule: ScheduleRecord, timeZone: string, say: Say = inEnglish): string {
  const zone = schedule.timing.kind === 'cron' ? schedule.timing.timeZone : timeZone;
  const task = schedule.task.replaceAll(/\s+/g, ' ');
  const clipped = task.length > SHOWN_TASK ? `${task.slice(0, SHOWN_TASK).toWellFormed()}…` : task;
  const timing = describeTiming(schedule.timing, say);
  return say('schedule.line', { timing, state: stateOf(schedule, zone, say), task: clipped });
}

/** `every 90 minutes`. */
export function describeTiming(timing: ScheduleTiming, say: Say = inEnglish): string {
  switch (timing.kind) {
    case 'at':
      return say('schedule.once');
    case 'every': {
      const minutes = timing.everyMs / 60_000;
      if (minutes % 1_440 === 0) return say('schedule.days', { count: minutes / 1_440 });
      if (minutes % 60 === 0) return say('schedule.hours', { count: minutes / 60 });
      return say('schedule.minutes', { count: minutes });
    }
    case 'cron':
      return `\`${timing.expression}\``;
    default:
      return timing satisfies never;
  }
}

function stateOf({ nextAt, lastAt, timing }: ScheduleRecord, timeZone: string, say: Say): string {
  if (nextAt !== undefined) return say('schedule.next', { moment: momentIn(nextAt.getTime(), timeZone) });
  return timing.kind === 'at' && lastAt !== undefined
    ? say('schedule.done', { moment: momentIn(lastAt.getTime(), timeZone) })
    : say('schedule.off');
}

/** Missed slots of a cron line that are counted one by one. */
export const MAX_COUNTED = 1_000;

/** How a run ended, in a few words, in English or worded by `say`; its own reason if it did not start. */
export function resultOf({ outcome, why: cause, turn }: ScheduleRun, say: Say = inEnglish): string {
  const reason = typeof cause === 'object' ? say.text(cause) : (cause ?? outcome);
  if (outcome === 'skipped') return say('schedule.run_skipped', { why: reason });
  if (outcome !== 'begun') return reason;
  if (turn === undefined) return say('schedule.run_deleted');
  if (turn.state !== 'done') return say(`schedule.run_${turn.state}`);
  const key = `schedule.run_${turn.reason ?? 'ended'}`;
  return isTextKey(key) ? say.text({ key }) : (turn.reason ?? '');
}

/** The slots missed while no gateway was running, as one run at most. Throws `GatewayError('bad_schedule')`. */
export function missedRuns(timing: ScheduleTiming, nextAt: Date, now: Date): NewScheduleRun[] {
  const first = nextSlot(timing, nextAt.getTime());
  if (first === undefined || first > now.getTime()) return [];
  const count = countSlots(timing, first, now.getTime());
  const reason =
    count > MAX_COUNTED
      ? textRef('schedule.why_missed_many', { most: MAX_COUNTED })
      : textRef('schedule.why_missed', { count });
  return [{ outcome: 'missed', dueAt: new Date(first), why: reason }];
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
