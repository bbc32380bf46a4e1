/** What decides about a version that is tried, and what the command refuses. */
import { describe, expect, it } from 'vitest';
import { judgeTrial, type TrialView } from '../../src/commands/upgrade/trial.ts';
import { readUpgradeOptions } from '../../src/commands/upgrade/upgrade.ts';

const report = { readyAt: 0, isReady: true, answered: 0, failed: 0 };
const view: TrialView = { report, end: undefined, startedMs: 1_000, readyMs: 500 };
const judged = (more: Partial<TrialView>, told: Partial<typeof report> = {}) => {
  const outcome = judgeTrial({ ...view, report: { ...report, ...told }, ...more });
  return typeof outcome === 'object' ? outcome.reason : outcome;
};

describe('a version that is tried', () => {
  it.each([
    ['is kept after three whole answers', {}, { answered: 3 }, 'kept'],
    ['is kept after half a minute in which nobody wrote', { readyMs: 30_000 }, {}, 'kept'],
    ['is kept when most answers were whole', { readyMs: 30_000 }, { answered: 2, failed: 2 }, 'kept'],
    ['is watched until then', { readyMs: 29_999 }, { answered: 2 }, undefined],
    ['is watched when one of its answers failed', {}, { answered: 5, failed: 1 }, undefined],
    [
      'is given up when its first three answers fail',
      {},
      { failed: 3 },
      'Its first 3 answers failed, and none was whole.',
    ],
    [
      'is given up when most answers failed',
      { readyMs: 30_000 },
      { answered: 1, failed: 2 },
      '2 answers failed, and 1 were whole.',
    ],
    [
      'is given up when it is not ready at the end',
      { readyMs: 30_000 },
      { isReady: false },
      'It cannot reach its database or a channel that ran before.',
    ],
    ['is given up when it ends', { end: 'SIGSEGV' }, { answered: 3 }, 'It ended (SIGSEGV).'],
    ['may take two minutes to start', { report: undefined, startedMs: 119_999 }, {}, undefined],
    [
      'is given up when it takes longer',
      { report: undefined, startedMs: 120_000 },
      {},
      'It was not ready within 120 s.',
    ],
  ] as const)('%s', (_title, more, told, outcome) => {
    expect(judged(more, told)).toBe(outcome);
  });
});

it('names one version, or goes back', () => {
  expect(readUpgradeOptions(['1.4.0'])).toEqual({ target: '1.4.0', back: false });
  expect(readUpgradeOptions(['--back'])).toEqual({ target: undefined, back: true });
  for (const args of [['1.4.0', '1.5.0'], ['--back', '1.4.0'], ['--now']])
    expect(() => readUpgradeOptions(args)).toThrow('upgrade');
});
