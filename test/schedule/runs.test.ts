/** The history of a schedule in words, and how many slots passed without a gateway. */
import { describe, expect, it } from 'vitest';
import type { ScheduleRun, ScheduleTiming } from '../../src/protocol/schedules.ts';
import { inEnglish, textRef } from '../../src/protocol/texts/say.ts';
import { builtInLanguages } from '../fakes/gateway/languages.ts';
import { MAX_COUNTED, missedRuns, resultOf } from '../../src/schedule/describe.ts';

const MINUTE_MS = 60_000;
const NOON = Date.UTC(2026, 5, 1, 12);
const cron: ScheduleTiming = { kind: 'cron', expression: '*/10 * * * *', timeZone: 'UTC' };
const run = (more: Partial<ScheduleRun>): ScheduleRun => ({
  outcome: 'begun',
  dueAt: new Date(NOON),
  at: new Date(NOON),
  ...more,
});

const whyOf = ({ why = '' }: Pick<ScheduleRun, 'why'> = {}): string =>
  typeof why === 'object' ? inEnglish.text(why) : why;

describe('the slots that were missed', () => {
  const missed = (timing: ScheduleTiming, minutesLate: number) =>
    missedRuns(timing, new Date(NOON), new Date(NOON + minutesLate * MINUTE_MS));

  it.each([
    ['an interval', { kind: 'every', everyMs: 10 * MINUTE_MS }],
    ['a cron line', cron],
  ] as const)('of %s are those from the one after the due one until now', (_name, timing) => {
    expect(missed(timing, 0)).toEqual([]);
    expect(missed(timing, 9)).toEqual([]);
    expect(missed(timing, 10)).toMatchObject([
      {
        outcome: 'missed',
        dueAt: new Date(NOON + 10 * MINUTE_MS),
        why: textRef('schedule.why_missed', { count: 1 }),
      },
    ]);
    expect(whyOf(missed(timing, 35)[0])).toMatch(/^3 runs were missed because no gateway was running/);
  });

  it('of a one-time schedule are none', () => {
    expect(missed({ kind: 'at', at: NOON }, 1_000)).toEqual([]);
  });

  it(`are counted up to ${MAX_COUNTED}`, () => {
    expect(whyOf(missed(cron, MAX_COUNTED * 10)[0])).toMatch(`${MAX_COUNTED} runs were`);
    expect(whyOf(missed(cron, (MAX_COUNTED + 1) * 10)[0])).toMatch(`More than ${MAX_COUNTED} runs were`);
  });
});

describe('how a run ended', () => {
  it.each([
    ['completed', run({ turn: { state: 'done', reason: 'completed' } })],
    ['still running', run({ turn: { state: 'running' } })],
    ['waiting for a decision', run({ turn: { state: 'parked' } })],
    ['failed; its trace says why', run({ turn: { state: 'done', reason: 'failed' } })],
    ['started; its turn has been deleted', run({})],
    ['skipped: too many', run({ outcome: 'skipped', why: 'too many' })],
    ['It was switched off.', run({ outcome: 'switched_off', why: 'It was switched off.' })],
  ])('is "%s"', (text, one) => {
    expect(resultOf(one)).toBe(text);
  });

  it('is described in the language of its reader, except for the text of an older run', () => {
    const german = builtInLanguages.say({ language: 'de', channel: 'http' });
    const skipped = run({ outcome: 'skipped', why: textRef('schedule.why_full') });
    expect(resultOf(skipped, german)).toBe(
      'ausgelassen: im Chat warteten zu viele Nachrichten, die /stop verwirft',
    );
    expect(resultOf(run({ turn: { state: 'done', reason: 'failed' } }), german)).toMatch(/^gescheitert/);
    expect(resultOf(run({ outcome: 'skipped', why: 'too many' }), german)).toBe('ausgelassen: too many');
  });
});
