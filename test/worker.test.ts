/** How a starting gateway names its channels when it reports that it is ready. */
import { expect, it } from 'vitest';
import { bestStates, channelList } from '../src/worker.ts';

it('distinguishes channels that are still connecting, degraded or refused from those that are up', () => {
  expect(
    channelList({ http: 'up', telegram: 'starting', slack: 'degraded', discord: 'dead', matrix: 'standby' }),
  ).toBe('http, telegram still connecting, slack degraded, discord refused, matrix received by another node');
});

it('reports the best state of each channel that several workers serve', () => {
  const [first, second] = [
    { http: 'up', telegram: 'starting' },
    { http: 'up', telegram: 'up' },
  ] as const;
  expect(channelList(bestStates([first, second]))).toBe('http, telegram');
  expect(channelList(bestStates([first, { http: 'up', telegram: 'dead' }]))).toBe(
    'http, telegram still connecting',
  );
});
