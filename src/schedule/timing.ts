/** When a schedule runs next: pure, with the clock as an argument. */
import { Cron } from 'croner';
import { isTimeZone } from '../lib/time-zone.ts';
import { MIN_EVERY_MS, type ScheduleTiming } from '../protocol/schedules.ts';
import { badSchedule } from './errors.ts';
import { textRef } from '../protocol/texts/say.ts';

/** Longest cron line, in UTF-16 units. */
const MAX_EXPRESSION = 200;
/** Longest interval of `every`, in milliseconds. */
export const MAX_EVERY_MS = 366 * 24 * 3_600_000;

/**
 * Consecutive slots that are checked for a too short interval: two values of the seconds field produce neighboring
 * slots.
 */
const CHECKED_SLOTS = 3;

/**
 * The first slot after `after`; undefined when none is left. An interval counts from `anchor`, an earlier slot. Clock
 * changes: a cron line with a single time runs once a day, after the gap when that time does not exist and at its first
 * occurrence when it occurs twice; a line that repeats within the day keeps its interval. Throws
 * `GatewayError('bad_schedule')` for a line or zone that cannot be parsed. Epoch milliseconds.
 */
export function nextSlot(timing: ScheduleTiming, after: number, anchor: number = after): number | undefined {
  switch (timing.kind) {
    case 'at':
      return timing.at > after ? timing.at : undefined;
    case 'every': {
      const beats = Math.floor((after - anchor) / timing.everyMs) + 1;
      return anchor + Math.max(1, beats) * timing.everyMs;
    }
    case 'cron':
      return readCron(timing.expression, timing.timeZone).nextRun(new Date(after))?.getTime();
    default:
      return timing satisfies never;
  }
}

/**
 * The first slot of a schedule created at `now`. Throws `GatewayError('bad_schedule')` naming what makes it unusable.
 */
export function firstSlot(timing: ScheduleTiming, now: number): number {
  const first = nextSlot(timing, now);
  if (timing.kind === 'every' && (timing.everyMs < MIN_EVERY_MS || timing.everyMs > MAX_EVERY_MS)) {
    throw badSchedule(textRef('schedule.interval'));
  }
  if (first === undefined) {
    throw badSchedule(
      timing.kind === 'cron'
        ? textRef('schedule.never', { expression: timing.expression })
        : textRef('schedule.passed', { now: new Date(now).toISOString() }),
    );
  }
  if (timing.kind === 'cron') checkBeat(timing, first);
  return first;
}

function checkBeat(timing: ScheduleTiming & { kind: 'cron' }, first: number): void {
  const cron = readCron(timing.expression, timing.timeZone);
  const slots = [first, ...cron.nextRuns(CHECKED_SLOTS - 1, new Date(first)).map((run) => run.getTime())];
  if (slots.some((slot, index) => slot - (slots[index - 1] ?? -Infinity) < MIN_EVERY_MS)) {
    throw badSchedule(textRef('schedule.too_often', { expression: timing.expression }));
  }
}

function readCron(expression: string, timeZone: string): Cron {
  if (!isTimeZone(timeZone)) {
    throw badSchedule(textRef('schedule.no_zone', { zone: timeZone.slice(0, 60) }));
  }
  const shown = expression.slice(0, 60);
  // The library accepts a date as a cron line that fires once; `at` is for that.
  if (expression.length > MAX_EXPRESSION || /^\s*\d{4}-/.test(expression)) {
    throw badSchedule(textRef('schedule.no_cron', { expression: shown }));
  }
  try {
    return new Cron(expression, { timezone: timeZone });
  } catch (error) {
    throw badSchedule(textRef('schedule.no_cron', { expression: shown }), error);
  }
}
