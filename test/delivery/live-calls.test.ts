/** What a live message notes of its calls: all counted, the first ones with their times. */
import { expect, it } from 'vitest';
import { ChannelError } from '../../src/contracts/errors.ts';
import { MAX_LIVE_EDITS, MAX_LIVE_POINTS } from '../../src/contracts/store/traces.ts';
import { LiveCalls } from '../../src/delivery/live-calls.ts';

it('keeps the first edits and leaves room for refusals, however many calls there are', () => {
  let now = 0;
  const calls = new LiveCalls(() => (now += 10));
  calls.shown('sent');
  for (let n = 0; n < MAX_LIVE_POINTS * 2; n += 1) calls.shown('edited');
  const pace = new ChannelError('rate_limited', 'too fast', { retryAfterMs: 3_000 });
  for (let n = 0; n < MAX_LIVE_POINTS * 2; n += 1) calls.failed(pace);
  calls.failed(new ChannelError('unavailable', 'away'));
  const { points = [], ...sums } = calls.counts;
  expect(sums).toEqual({ sent: 1, edited: MAX_LIVE_POINTS * 2, refused: MAX_LIVE_POINTS * 2, failed: 1 });
  expect(points).toHaveLength(MAX_LIVE_POINTS);
  expect(points[0]).toEqual({ kind: 'sent', atMs: 10 });
  expect(points.filter(({ kind }) => kind === 'edited')).toHaveLength(MAX_LIVE_EDITS);
  expect(points.at(-1)).toMatchObject({ kind: 'refused', code: 'rate_limited', retryAfterMs: 3_000 });
});
