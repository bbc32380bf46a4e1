/** When a schedule runs next: pure, with the clock as an argument. */
import { Cron } from 'croner';
import { toGatewayError } from '../contracts/errors.ts';
import { isTimeZone } from '../lib/time-zone.ts';
import { MIN_EVERY_MS } from '../contracts/schedules.ts';
import type { ScheduleTiming } from '../contracts/schedules.ts';
import { badSchedule } from './errors.ts';

/** Longest cron line, in UTF-16 units. */
const MAX_EXPRESSION = 200;
/** Longest beat of `every`, in milliseconds. */
export const MAX_EVERY_MS = 366 * 24 * 3_600_000;

/** Three slots in a row show a beat that is too quick: two values of the seconds fall into one minute, and so next to each other. */
const SLOTS_LOOKED_AT = 3;

/**
 * The first slot after `after`; undefined when there is none any more. A steady beat counts from `anchor`, an earlier
 * slot. Clock changes: a line with one single time runs once a day, after the gap where that time does not exist and at
 * its first coming where it comes twice; a line that repeats within the day keeps its beat. Throws
 * `GatewayError('bad_schedule')` for a line or zone that cannot be read. Epoch milliseconds.
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

/** The first slot of a schedule made at `now`. Throws `GatewayError('bad_schedule')` naming what makes it unusable. */
export function firstSlot(timing: ScheduleTiming, now: number): number {
  const first = nextSlot(timing, now);
  if (timing.kind === 'every' && (timing.everyMs < MIN_EVERY_MS || timing.everyMs > MAX_EVERY_MS)) {
    throw badSchedule('A beat is at least one minute and at most 366 days.');
  }
  if (first === undefined) {
    throw badSchedule(
      timing.kind === 'cron'
        ? `"${timing.expression}" never comes: no such day will be.`
        : `That moment is over; it is ${new Date(now).toISOString()} now.`,
    );
  }
  if (timing.kind === 'cron') checkBeat(timing, first);
  return first;
}

function checkBeat(timing: ScheduleTiming & { kind: 'cron' }, first: number): void {
  const cron = readCron(timing.expression, timing.timeZone);
  const slots = [first, ...cron.nextRuns(SLOTS_LOOKED_AT - 1, new Date(first)).map((run) => run.getTime())];
  if (slots.some((slot, index) => slot - (slots[index - 1] ?? -Infinity) < MIN_EVERY_MS)) {
    throw badSchedule(`"${timing.expression}" runs more often than once a minute, which is the most.`);
  }
}

function readCron(expression: string, timeZone: string): Cron {
  if (!isTimeZone(timeZone)) {
    throw badSchedule(
      `There is no time zone "${timeZone.slice(0, 60)}"; give one such as Europe/Berlin, or UTC.`,
    );
  }
  const shown = expression.slice(0, 60);
  // The library reads a date as a line that comes once; that is what `at` is for.
  if (expression.length > MAX_EXPRESSION || /^\s*\d{4}-/.test(expression)) {
    throw badSchedule(`"${shown}" is not a cron line, such as "0 9 * * *" for every day at nine.`);
  }
  try {
    return new Cron(expression, { timezone: timeZone });
  } catch (error) {
    const why = toGatewayError(error)
      .message.replace(/^CronPattern: /, '')
      .slice(0, 200);
    throw badSchedule(
      `"${shown}" is not a cron line, such as "0 9 * * *" for every day at nine: ${why}`,
      error,
    );
  }
}
