/** Overlapping requests of the page: what may be shown of them. */
import { expect, it } from 'vitest';
import { NewestAnswer } from '../../../../channels/http/page/newest.ts';

it('never shows an answer over that of a later request, and does not delay one that arrives first', () => {
  const newest = new NewestAnswer();
  const [first, second, third] = [newest.begin(), newest.begin(), newest.begin()];
  expect(second?.()).toBe(true);
  expect(first?.()).toBe(false);
  expect(third?.()).toBe(true);
  expect(newest.begin()()).toBe(true);
});
