/** How a starting gateway names its channels when it reports that it is ready. */
import { expect, it } from 'vitest';
import { bestStates, channelWords } from '../src/worker.ts';

it('distinguishes channels that are still connecting, degraded or refused from those that are up', () => {
  expect(channelWords({ http: 'up', telegram: 'starting', slack: 'degraded', discord: 'dead' })).toBe(
    'http, telegram still connecting, slack degraded, discord refused',
  );
});

it('reports the best state of each channel that several workers serve', () => {
  const [first, second] = [
    { http: 'up', telegram: 'starting' },
    { http: 'up', telegram: 'up' },
  ] as const;
  expect(channelWords(bestStates([first, second]))).toBe('http, telegram');
  expect(channelWords(bestStates([first, { http: 'up', telegram: 'dead' }]))).toBe(
    'http, telegram still connecting',
  );
});
