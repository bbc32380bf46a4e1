/** Slots: strictly increasing, through clock changes, and what cannot be a schedule. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MIN_EVERY_MS, type ScheduleTiming } from '../../src/protocol/schedules.ts';
import { firstSlot, MAX_EVERY_MS, nextSlot } from '../../src/schedule/timing.ts';

const cron = (expression: string, timeZone = 'UTC'): ScheduleTiming => ({
  kind: 'cron',
  expression,
  timeZone,
});
const at = (iso: string): number => Date.parse(iso);

/** The next `count` slots after a moment, as ISO times without seconds. */
function slots(timing: ScheduleTiming, after: string, count: number): string[] {
  const found: string[] = [];
  let last: number | undefined = at(after);
  for (let n = 0; n < count && last !== undefined; n += 1) {
    last = nextSlot(timing, last);
    if (last !== undefined) found.push(new Date(last).toISOString().slice(0, 16));
  }
  return found;
}

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
const field = (max: number, min = 0): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: 1, max: Math.min(12, max) }).map((step) => `*/${step}`),
    fc.integer({ min, max }).map(String),
    fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${a},${b}`),
  );
const anyCron = fc
  .tuple(field(59), field(23), field(28, 1), field(12, 1), field(6), fc.constantFrom(...ZONES))
  .map(([minute, hour, day, month, weekday, zone]) =>
    cron(`${minute} ${hour} ${day} ${month} ${weekday}`, zone),
  );
const anyEvery = fc
  .integer({ min: MIN_EVERY_MS, max: MAX_EVERY_MS })
  .map((everyMs): ScheduleTiming => ({ kind: 'every', everyMs }));
const anyMoment = fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2040-01-01T00:00:00Z') });

describe('slots', () => {
  it('come strictly one after another and never before the current time', () => {
    const rising = fc.property(fc.oneof(anyCron, anyEvery), anyMoment, (timing, start) => {
      let last = start;
      for (let n = 0; n < 6; n += 1) {
        const next = nextSlot(timing, last, start);
        if (next === undefined || next <= last) return false;
        if (timing.kind === 'cron' && n > 0 && next - last < MIN_EVERY_MS) return false;
        last = next;
      }
      return true;
    });
    expect(fc.check(rising, { numRuns: 300 })).toMatchObject({ failed: false });
  });

  it('of an interval stay aligned, however long the gateway was off', () => {
    const steady = fc.property(
      anyMoment,
      fc.integer({ min: MIN_EVERY_MS, max: 10 * MIN_EVERY_MS }),
      fc.integer({ min: -5_000, max: 400_000_000 }),
      (anchor, everyMs, awayMs) => {
        const next = nextSlot({ kind: 'every', everyMs }, anchor + awayMs, anchor) ?? 0;
        return (
          (next - anchor) % everyMs === 0 &&
          next > anchor + awayMs &&
          next - everyMs <= Math.max(anchor, anchor + awayMs)
        );
      },
    );
    expect(fc.check(steady)).toMatchObject({ failed: false });
  });

  it('depend on nothing but their arguments', () => {
    const pure = fc.property(anyCron, anyMoment, (timing, start) => {
      return nextSlot(timing, start) === nextSlot(timing, start);
    });
    expect(fc.check(pure)).toMatchObject({ failed: false });
  });

  it('of a daily time skipped in spring come after the gap, on that day too', () => {
    expect(slots(cron('30 2 * * *', 'Europe/Berlin'), '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  it('of a daily time repeated in autumn come once', () => {
    expect(slots(cron('30 2 * * *', 'Europe/Berlin'), '2026-10-24T00:00:00Z', 3)).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });

  it('of a line that repeats within the day keep their interval through both', () => {
    const halfHours = cron('*/30 * * * *', 'Europe/Berlin');
    expect(slots(halfHours, '2026-03-29T00:00:00Z', 3)).toEqual([
      '2026-03-29T00:30',
      '2026-03-29T01:00',
      '2026-03-29T01:30',
    ]);
    expect(slots(halfHours, '2026-10-25T00:00:00Z', 3)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
    ]);
  });

  it('end when none is left', () => {
    expect(nextSlot({ kind: 'at', at: 1_000 }, 999)).toBe(1_000);
    expect(nextSlot({ kind: 'at', at: 1_000 }, 1_000)).toBeUndefined();
    expect(slots(cron('0 0 0 1 1 * 2027'), '2026-06-01T00:00:00Z', 3)).toEqual(['2027-01-01T00:00']);
  });
});

describe('a schedule is refused', () => {
  const now = at('2026-06-01T00:00:00Z');
  it.each([
    ['that never comes', cron('0 0 30 2 *'), /never occurs/],
    ['whose year has passed', cron('0 0 0 1 1 * 2020'), /never occurs/],
    [
      'that is no cron line',
      cron('every morning'),
      /not a cron line: write five numbers or stars .* such as "0 9/,
    ],
    ['with a minute that is none', cron('61 * * * *'), /not a cron line.*minute/],
    ['that is a date', cron('2026-12-01T09:00:00'), /not a cron line/],
    ['that is endless text', cron('* '.repeat(500)), /not a cron line/],
    ['in a zone nobody knows', cron('0 9 * * *', 'Mars/Base'), /no time zone "Mars\/Base"/],
    ['that runs every second', cron('* * * * * *'), /more than once a minute/],
    ['that runs twice in one minute of the year', cron('0,30 0 0 1 1 *'), /more than once a minute/],
    ['with a beat under a minute', { kind: 'every', everyMs: MIN_EVERY_MS - 1 }, /between 1 minute/],
    ['with a beat over a year', { kind: 'every', everyMs: MAX_EVERY_MS + 1 }, /and 366 days/],
    ['for a moment that has passed', { kind: 'at', at: now }, /has passed; it is now 2026-06-01/],
  ] satisfies [string, ScheduleTiming, RegExp][])('%s', (_name, timing, message) => {
    expect(() => firstSlot(timing, now)).toThrow(message);
  });

  it('only beyond its limits: an interval of one minute is accepted', () => {
    expect(firstSlot({ kind: 'every', everyMs: MIN_EVERY_MS }, now)).toBe(now + MIN_EVERY_MS);
    expect(firstSlot(cron('* * * * *'), now)).toBe(now + MIN_EVERY_MS);
    expect(firstSlot({ kind: 'every', everyMs: MAX_EVERY_MS }, now)).toBe(now + MAX_EVERY_MS);
  });
});

describe('clocks that are set forward, in every zone from 2026 to 2036', () => {
  const YEARS = [at('2026-01-01T00:00:00Z'), at('2037-01-01T00:00:00Z')] as const;
  const HOUR = 3_600_000;
  const clockOf = (timeZone: string) => {
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    return (ms: number): number => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`);
  };
  /** The moments at which the clocks skip something, with what they would have shown and what they show. */
  const gapsOf = (timeZone: string): { moment: number; from: number; to: number }[] => {
    const wallOf = clockOf(timeZone);
    const offset = (ms: number): number => wallOf(ms) - ms;
    const gaps = [];
    for (let day = YEARS[0]; day < YEARS[1]; day += 7 * 24 * HOUR) {
      let [before, after] = [day, day + 7 * 24 * HOUR];
      if (offset(after) <= offset(before)) continue;
      while (after - before > 60_000) {
        const middle = before + Math.floor((after - before) / 120_000) * 60_000;
        if (offset(middle) > offset(before)) after = middle;
        else before = middle;
      }
      gaps.push({ moment: after, from: after + offset(before), to: wallOf(after) });
    }
    return gaps;
  };

  it('leave out no day of a line with one time: what has no later time on its day runs right after the gap', () => {
    const failures: string[] = [];
    let moved = 0;
    // Zones whose clocks skip the same at the same moments need one look.
    const seen = new Set<string>();
    for (const timeZone of Intl.supportedValuesOf('timeZone')) {
      const gaps = gapsOf(timeZone);
      if (seen.has(JSON.stringify(gaps))) continue;
      seen.add(JSON.stringify(gaps));
      for (const { moment, from, to } of gaps) {
        for (const wall of [from, (from + to) / 2, to - 60_000]) {
          const time = new Date(wall);
          const timing = {
            kind: 'cron',
            expression: `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`,
            timeZone,
          } as const;
          const slots: number[] = [];
          for (let last = moment - 12 * HOUR; slots.length < 2; slots.push(last))
            last = nextSlot(timing, last) ?? Infinity;
          const [first = 0, second = 0] = slots;
          const isOnce = first >= moment && first < moment + 3 * HOUR && second - first > 20 * HOUR;
          if (first === moment) moved += 1;
          if (!isOnce || second - first > 27 * HOUR)
            failures.push(
              `${timeZone} ${timing.expression}: ${slots.map((slot) => new Date(slot).toISOString()).join(' ')}`,
            );
        }
      }
    }
    expect(failures).toEqual([]);
    expect(moved).toBeGreaterThan(0);
  }, 120_000);

  it('run Nuuk’s last evening of winter at midnight, and that day once', () => {
    const timing = { kind: 'cron', expression: '30 23 * * *', timeZone: 'America/Nuuk' } as const;
    const friday = nextSlot(timing, at('2026-03-27T12:00:00Z')) ?? 0;
    const saturday = nextSlot(timing, friday) ?? 0;
    const sunday = nextSlot(timing, saturday) ?? 0;
    expect([friday, saturday, sunday].map((slot) => new Date(slot).toISOString())).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
  });
});
