/** The times of a run with failures: none is omitted for being long. */
import { describe, expect, it } from 'vitest';
import { timesOf } from './times.ts';

const struck = new Set(['s00#3']);
const kill = (since: number, hit = struck) => ({
  name: 'kill',
  since,
  measure: 'resume' as const,
  struck: hit,
});
const asked = (at: number, index = 3) => ({ session: 's00', index, at });

describe('the times until work resumes', () => {
  it('run from the failure to the first model call of a question that it struck', () => {
    const times = timesOf([kill(100)], [asked(90), asked(150, 4), asked(400)]);
    expect(times.get('kill')).toMatchObject({ count: 1, resume: [300], undisturbed: [300], struckAgain: 0 });
  });

  it('continue through a further failure that came first, and are counted', () => {
    const times = timesOf([kill(100), kill(900)], [asked(1_400)]);
    expect(times.get('kill')).toMatchObject({ resume: [1_300, 500], undisturbed: [500], struckAgain: 1 });
  });

  it('are missing, and counted, when the model was never asked again', () => {
    expect(timesOf([kill(100)], [asked(90)]).get('kill')).toMatchObject({ resume: [], neverAsked: 1 });
  });

  it('do not exist when no running question was struck', () => {
    const times = timesOf([kill(100, new Set())], [asked(400)]);
    expect(times.get('kill')).toMatchObject({ count: 1, resume: [], neverAsked: 0 });
  });
});
