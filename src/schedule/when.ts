/** Parses the timing of a schedule from what people and models write. */
import { Cron } from 'croner';
import { isTimeZone } from '../lib/time-zone.ts';
import type { ScheduleTiming, ScheduleWhen } from '../protocol/schedules.ts';
import { badSchedule } from './errors.ts';
import { textRef } from '../protocol/texts/say.ts';

const MINUTE_MS = 60_000;

/** Minutes of each unit. */
const UNITS: Record<string, number> = { m: 1, h: 60, d: 24 * 60 };

/**
 * Parses a timing. `now` is epoch milliseconds, `timeZone` applies when the request names none. Throws
 * `GatewayError('bad_schedule')`.
 */
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

const MOMENT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?$/i;

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
 * Parses the timing of `/schedule add`: `0 9 * * *`, optionally followed by a time zone, `every 30m`, `in 2 hours`, `at
 * 2026-12-01 09:00`. Never throws: anything else is treated as a cron line.
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
