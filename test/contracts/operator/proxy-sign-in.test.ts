/** The limits of the rule `proxySignIn`. */
import { expect, it } from 'vitest';
import { MAX_PROXY_USER, MAX_PROXY_USERS, proxySignInRule } from '../../../src/protocol/operator/sign-in.ts';

const users = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`user-${n}`, 'team']));
const takes = (rule: object): boolean => proxySignInRule.safeParse(rule).success;

it(`accepts ${MAX_PROXY_USERS} users with names of ${MAX_PROXY_USER} characters, and not one more`, () => {
  expect(takes({ users: users(MAX_PROXY_USERS) })).toBe(true);
  expect(takes({ users: users(MAX_PROXY_USERS + 1) })).toBe(false);
  expect(takes({ users: { ['x'.repeat(MAX_PROXY_USER)]: 'team' } })).toBe(true);
  expect(takes({ users: { ['x'.repeat(MAX_PROXY_USER + 1)]: 'team' } })).toBe(false);
});

it('accepts only header names', () => {
  expect(takes({ userHeader: 'Cf-Access-Authenticated-User-Email' })).toBe(true);
  for (const userHeader of ['', 'X User', 'X:User', 'X-Übung']) expect(takes({ userHeader })).toBe(false);
});
