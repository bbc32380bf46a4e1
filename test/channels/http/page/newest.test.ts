/** Overlapping requests of the page: what may be shown of them. */
import { expect, it } from 'vitest';
import { NewestAnswer } from '../../../../channels/http/page/newest.js';

it('never replaces the answer of a later request, and delays none that arrives first', () => {
  const newest = new NewestAnswer();
  const [first, second, third] = [newest.begin(), newest.begin(), newest.begin()];
  expect(second?.()).toBe(true);
  expect(first?.()).toBe(false);
  expect(third?.()).toBe(true);
  expect(newest.begin()()).toBe(true);
});
