/** How users and models specify a time. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/protocol/errors.ts';
import { momentIn } from '../../src/schedule/describe.ts';
import { parseWhen, readWhen } from '../../src/schedule/timing.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const gateway = { now: NOW, timeZone: 'Europe/Berlin' };
const moment = (iso: string) => ({ kind: 'at', at: Date.parse(iso) });

describe('the fields', () => {
  it.each([
    [{ cron: ' 0  9 * * * ' }, { kind: 'cron', expression: '0 9 * * *', timeZone: 'Europe/Berlin' }],
    [
      { cron: '@daily', timeZone: 'UTC' },
      { kind: 'cron', expression: '@daily', timeZone: 'UTC' },
    ],
    [{ everyMinutes: 30 }, { kind: 'every', everyMs: 1_800_000 }],
    [{ inMinutes: 1.5 }, { kind: 'at', at: NOW + 90_000, inMs: 90_000 }],
    [{ at: '2026-12-01 09:00' }, moment('2026-12-01T08:00:00Z')],
    [{ at: '2026-07-01T09:00:30' }, moment('2026-07-01T07:00:30Z')],
    [{ at: '2026-12-01 09:00', timeZone: 'America/New_York' }, moment('2026-12-01T14:00:00Z')],
    [{ at: '2026-12-01T09:00:00Z' }, moment('2026-12-01T09:00:00Z')],
    [{ at: '2026-12-01 09:00 +02:00' }, moment('2026-12-01T07:00:00Z')],
    [{ at: '2027-03-28 02:30' }, moment('2027-03-28T01:30:00Z')],
  ])('%o mean what they say', (when, timing) => {
    expect(readWhen(when, gateway)).toEqual(timing);
  });

  it.each([
    [{}, /exactly one way/],
    [{ cron: '* * * * *', everyMinutes: 5 }, /exactly one way/],
    [{ timeZone: 'UTC' }, /exactly one way/],
    [{ at: 'tomorrow' }, /not a time I can read; write it as 2026-12-01 09:00/],
    [{ at: '2026-02-30 09:00' }, /not a time I can read/],
    [{ at: '2026-12-01 25:00' }, /not a time I can read/],
    [{ at: '2026-12-01 09:00+99:99' }, /invalid offset/],
    [{ at: '2026-12-01 09:00', timeZone: 'Nowhere' }, /no time zone "Nowhere"/],
  ])('%o are refused with what to write instead', (when, message) => {
    expect(() => readWhen(when, gateway)).toThrow(message);
  });

  it('fail only with a message, whatever they contain', () => {
    const safe = fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('at', 'cron'), (text, field) => {
      try {
        readWhen({ [field]: text, timeZone: text }, gateway);
        return true;
      } catch (error) {
        return error instanceof GatewayError && error.code === 'bad_schedule';
      }
    });
    expect(fc.check(safe)).toMatchObject({ failed: false });
  });
});

describe('the text of /schedule add', () => {
  it.each([
    ['every 30m', { everyMinutes: 30 }],
    ['every hour', { everyMinutes: 60 }],
    ['Every 2 hours', { everyMinutes: 120 }],
    ['every 3 days', { everyMinutes: 4_320 }],
    ['in 10 minutes', { inMinutes: 10 }],
    ['in 1h', { inMinutes: 60 }],
    ['at 2026-12-01 09:00', { at: '2026-12-01 09:00' }],
    ['at 2026-12-01T09:00:00Z', { at: '2026-12-01T09:00:00Z' }],
    ['at 2026-12-01 09:00 Asia/Tokyo', { at: '2026-12-01 09:00', timeZone: 'Asia/Tokyo' }],
    ['0 9 * * 1-5', { cron: '0 9 * * 1-5' }],
    ['0 9 * * * America/Argentina/Salta', { cron: '0 9 * * *', timeZone: 'America/Argentina/Salta' }],
    ['*/5 * * * * UTC', { cron: '*/5 * * * *', timeZone: 'UTC' }],
    ['0 0 9 * * MON/2', { cron: '0 0 9 * * MON/2' }],
    ['every blue moon', { cron: 'every blue moon' }],
  ])('"%s" are understood', (text, when) => {
    expect(parseWhen(text)).toEqual(when);
  });
});

it('shows times in the zone, and in UTC when the zone is unknown', () => {
  expect(momentIn(Date.parse('2026-12-01T08:00:00Z'), 'Europe/Berlin')).toBe(
    '2026-12-01 09:00 (Europe/Berlin)',
  );
  expect(momentIn(Date.parse('2026-12-01T08:00:07Z'), 'Gone/Zone')).toBe('2026-12-01 08:00:07 (UTC)');
  expect(momentIn(Date.parse('2026-12-01T00:00:00Z'), 'UTC')).toBe('2026-12-01 00:00 (UTC)');
});
