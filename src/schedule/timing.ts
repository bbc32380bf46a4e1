/** When a schedule runs next: pure, with the clock as an argument. */
import { Cron } from 'croner';
import { isTimeZone } from '../lib/clock.ts';
import { MIN_EVERY_MS, type ScheduleTiming, type ScheduleWhen } from '../protocol/schedules.ts';
import { GatewayError } from '../protocol/errors.ts';
import { type TextRef, textRef } from '../protocol/texts/say.ts';

/** Longest cron line, in UTF-16 units. */
const MAX_EXPRESSION = 200;
/** Longest interval of `every`, in milliseconds. */
export const MAX_EVERY_MS = 366 * 24 * 3_600_000;

/** Slots that are checked for too short an interval: two values of the seconds field give neighboring slots. */
const CHECKED_SLOTS = 3;

/**
 * The first slot after `from`; undefined if none is left. An interval counts from `anchor`, an earlier slot. When clocks
 * change, a cron line with a single time still runs once a day, and one that repeats within the day keeps its interval. A
 * day whose only time the clocks skip, up to its midnight, runs at the first moment after that.
 * Throws `GatewayError('bad_schedule')` for a line or zone that cannot be parsed. Epoch milliseconds.
 */
export function nextSlot(timing: ScheduleTiming, from: number, anchor: number = from): number | undefined {
  switch (timing.kind) {
    case 'at':
      return timing.at > from ? timing.at : undefined;
    case 'every': {
      const beats = Math.floor((from - anchor) / timing.everyMs) + 1;
      return anchor + Math.max(1, beats) * timing.everyMs;
    }
    case 'cron':
      return (
        slotInGap(timing, from) ??
        readCron(timing.expression, timing.timeZone).nextRun(new Date(from))?.getTime()
      );
    default:
      return timing satisfies never;
  }
}

const DAY_MS = 24 * 3_600_000;

/** Farthest that two zones' clocks differ, in milliseconds. */
const MAX_OFFSET_MS = 26 * 3_600_000;

/**
 * The first moment after `from` at which the clocks have skipped the next time of a line, if its day has no other: the
 * library moves a skipped time to later on the same day, and leaves out one that would come on the next.
 */
function slotInGap(
  { expression, timeZone }: ScheduleTiming & { kind: 'cron' },
  from: number,
): number | undefined {
  const cron = readCron(expression, timeZone);
  const wallOf = wallClock(timeZone);
  const wall = readCron(expression, 'UTC')
    .nextRun(new Date(wallOf(from)))
    ?.getTime();
  if (wall === undefined) return undefined;
  // The first moment, in seconds, when the clocks show that time or a later one.
  let [before, after] = [wall - MAX_OFFSET_MS, wall + MAX_OFFSET_MS].map((ms) => Math.floor(ms / 1_000));
  if (before === undefined || after === undefined) return undefined;
  while (after - before > 1) {
    const middle: number = Math.floor((before + after) / 2);
    if (wallOf(middle * 1_000) >= wall) after = middle;
    else before = middle;
  }
  const moment = after * 1_000;
  if (wallOf(moment) === wall || moment <= from) return undefined;
  const day = wall - (wall % DAY_MS);
  const sameDay = cron.nextRun(new Date(moment - (wallOf(moment - 1_000) - day) - 2_000));
  return sameDay !== null && wallOf(sameDay.getTime()) < day + DAY_MS ? undefined : moment;
}

/** What the clocks of a zone show at a moment, as the moment when those of UTC do. */
function wallClock(timeZone: string): (ms: number) => number {
  const parts = {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as const;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    calendar: 'iso8601',
    ...parts,
  });
  return (ms) => {
    const value = Object.fromEntries(
      format.formatToParts(ms).map(({ type, value: text }) => [type, Number(text)]),
    );
    const { year = 0, month = 1, day, hour, minute, second } = value;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

/** The first slot of a schedule created at `now`. Throws `GatewayError('bad_schedule')` with the reason. */
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
  const clipped = expression.slice(0, 60);
  // The library accepts a date as a cron line that fires once; `at` is for that.
  if (expression.length > MAX_EXPRESSION || /^\s*\d{4}-/.test(expression)) {
    throw badSchedule(textRef('schedule.no_cron', { expression: clipped }));
  }
  try {
    return new Cron(expression, { timezone: timeZone });
  } catch (error) {
    throw badSchedule(textRef('schedule.no_cron', { expression: clipped }), error);
  }
}

/** The message says what to change. */
export function badSchedule(message: TextRef, cause?: unknown): GatewayError {
  return new GatewayError('bad_schedule', message, { cause });
}

const MINUTE_MS = 60_000;

/** Minutes of each unit. */
const UNITS: Record<string, number> = { m: 1, h: 60, d: 24 * 60 };

const MOMENT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?$/i;

/** Parses a timing; `timeZone` applies if the request names none. Throws `GatewayError('bad_schedule')`. */
export function readWhen(
  when: ScheduleWhen,
  { now, timeZone }: { now: number; timeZone: string },
): ScheduleTiming {
  const { cron, everyMinutes, inMinutes, at } = when;
  const zone = when.timeZone ?? timeZone;
  if ([cron, everyMinutes, inMinutes, at].filter((field) => field !== undefined).length !== 1) {
    throw badSchedule(textRef('schedule.one_way'));
  }
  if (cron !== undefined) {
    return { kind: 'cron', expression: cron.trim().replaceAll(/\s+/g, ' '), timeZone: zone };
  }
  if (everyMinutes !== undefined) return { kind: 'every', everyMs: Math.round(everyMinutes * MINUTE_MS) };
  if (inMinutes !== undefined) {
    const inMs = Math.round(inMinutes * MINUTE_MS);
    return { kind: 'at', at: now + inMs, inMs };
  }
  return { kind: 'at', at: readMoment(at ?? '', zone) };
}

/** A time with its offset, or local time in `timeZone`; a time skipped by a clock change is moved one hour later. */
function readMoment(text: string, timeZone: string): number {
  const [whole, day = '', hour = '', minute = '', second = '00', offset] = MOMENT.exec(text.trim()) ?? [];
  const real = new Date(`${day}T${hour}:${minute}:${second}Z`);
  // A day that does not exist in its month would silently become one in the next month.
  if (whole === undefined || Number.isNaN(real.getTime()) || !real.toISOString().startsWith(day)) {
    throw badSchedule(textRef('schedule.no_time', { text: text.slice(0, 60) }));
  }
  if (offset !== undefined) {
    const moment = Date.parse(whole.replace(' ', 'T').replace(/\s/, ''));
    if (!Number.isNaN(moment)) return moment;
    throw badSchedule(textRef('schedule.bad_offset', { text: text.slice(0, 60) }));
  }
  if (!isTimeZone(timeZone)) {
    throw badSchedule(textRef('schedule.no_zone', { zone: timeZone.slice(0, 60) }));
  }
  const local = new Cron(`${day}T${hour}:${minute}:${second}`, { timezone: timeZone });
  const moment = local.nextRun(new Date(0))?.getTime();
  if (moment === undefined) throw badSchedule(textRef('schedule.before_1970'));
  return moment;
}

/**
 * Parses the timing of `/schedule add`: `0 9 * * *` with or without a zone, `every 30m`, `in 2 hours`,
 * `at 2026-12-01 09:00`. Never throws: anything else is treated as a cron line.
 */
export function parseWhen(text: string): ScheduleWhen {
  const trimmed = text.trim();
  const [, beat, count = '1', unit] =
    /^(every|in)\s+(?:(\d{1,6})\s*)?(m|h|d)(?:in|ins|inutes?|ours?|rs?|ays?)?$/i.exec(trimmed) ?? [];
  if (beat !== undefined && unit !== undefined) {
    const minutes = Number(count) * (UNITS[unit.toLowerCase()] ?? 1);
    return beat.toLowerCase() === 'every' ? { everyMinutes: minutes } : { inMinutes: minutes };
  }
  const [, at, zoneOfAt] =
    /^at\s+(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)(?:\s+(\S+))?$/i.exec(
      trimmed,
    ) ?? [];
  if (at !== undefined) return { at, ...(zoneOfAt !== undefined && { timeZone: zoneOfAt }) };
  const [, line, zone] = /^(.*\S)\s+([a-z][\w+-]*(?:\/[\w+-]+)+|UTC)$/is.exec(trimmed) ?? [];
  return zone !== undefined && line !== undefined && isTimeZone(zone)
    ? { cron: line, timeZone: zone }
    : { cron: trimmed };
}
