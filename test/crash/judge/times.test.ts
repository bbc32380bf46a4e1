/** The times of a run with failures: none is omitted for being long. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pauseWithin, timesOf } from './times.ts';

const struck = new Set(['s00#3']);
const kill = (since: number, hit = struck) => ({
  name: 'kill',
  since,
  measure: 'resume' as const,
  struck: hit,
});
const asked = (at: number, index = 3) => ({ session: 's00', index, at });

describe('the times until work resumes', () => {
  it('run from the failure to the first model call of a question that was in progress', () => {
    const times = timesOf([kill(100)], [asked(90), asked(150, 4), asked(400)]);
    expect(times.get('kill')).toMatchObject({ count: 1, resume: [{ ms: 300 }] });
  });

  it('continue through a further failure that came first, and are counted', () => {
    const times = timesOf([kill(100), kill(900)], [asked(1_400)]);
    expect(times.get('kill')).toMatchObject({ resume: [{ ms: 1_300, struckAgainMs: 800 }, { ms: 500 }] });
  });

  it('are not later because a question that an earlier failure struck comes first', () => {
    const later = { ...kill(100), waiting: new Set(['s00#9']) };
    const times = timesOf([later], [asked(150, 4), asked(300, 9), asked(700)]);
    expect(times.get('kill')).toMatchObject({ resume: [{ ms: 200 }], resumeOfRunning: [{ ms: 600 }] });
    const takeover = timesOf([{ ...later, measure: 'takeover' }], [asked(300, 9), asked(700)]);
    expect(takeover.get('kill')).toMatchObject({ takeover: [{ ms: 600 }] });
  });

  it('are watched until the next failure, not until its next process starts', () => {
    const times = timesOf([kill(100), { ...kill(900), diedAt: 700 }], [asked(800), asked(1_000)]);
    expect(times.get('kill')).toMatchObject({ resume: [{ ms: 700, struckAgainMs: 600 }, { ms: 100 }] });
  });

  it('are missing, and counted, when the model was never asked again', () => {
    expect(timesOf([kill(100)], [asked(90)]).get('kill')).toMatchObject({ resume: [], neverAsked: 1 });
  });

  it('do not exist when no running question was struck', () => {
    const times = timesOf([kill(100, new Set())], [asked(400)]);
    expect(times.get('kill')).toMatchObject({ count: 1, resume: [], neverAsked: 0 });
  });
});

describe('the time within which a share of the pauses ends', () => {
  const resumed = (...times: number[]) => times.map((ms) => ({ ms }));

  it('is a plain percentile when nothing struck again', () => {
    const times = resumed(...Array.from({ length: 100 }, (_, at) => 100 - at));
    expect([0.5, 0.95].map((share) => pauseWithin(times, share))).toEqual([51, 96]);
    expect(pauseWithin([], 0.5)).toBeNaN();
  });

  it('counts a pause that was struck again for as long as it lasted, neither leaving it out nor adding the next', () => {
    const struckAgain = { ms: 9_000, struckAgainMs: 250 };
    // Beyond 200 ms are 3 of 5, one of them unknown: the other two stand for all three.
    expect(pauseWithin([...resumed(100, 200, 300, 400), struckAgain], 0.69)).toBe(300);
    expect(pauseWithin([...resumed(100, 200, 300, 400), struckAgain], 0.7)).toBe(400);
    expect(pauseWithin([...resumed(100), { ms: 9_000, struckAgainMs: 100 }], 0.95)).toBe(Infinity);
  });

  it('is never shorter than without those that were struck again, nor than if they had ended then', () => {
    const ms = fc.integer({ min: 1, max: 99 });
    const share = fc.double({ min: 0.05, max: 0.99, noNaN: true });
    fc.assert(
      fc.property(fc.array(ms, { minLength: 1 }), fc.array(ms), share, (ended, again, part) => {
        const struck = again.map((struckAgainMs) => ({ ms: 2 * struckAgainMs, struckAgainMs }));
        const within = pauseWithin([...resumed(...ended), ...struck], part);
        expect(within).toBeGreaterThanOrEqual(pauseWithin(resumed(...ended), part));
        expect(within).toBeGreaterThanOrEqual(pauseWithin(resumed(...ended, ...again), part));
      }),
    );
  });
});
