/** What a run says about tests that it skipped, and what makes a test skip. */
import { afterEach, expect, it, vi } from 'vitest';
import { needs, skipUnless } from './needs.ts';
import { skipLine } from './skip-summary.ts';

afterEach(() => vi.unstubAllEnvs());

const group = (missing?: string, parent?: object) => ({ meta: () => ({ missing }), parent });

it('names what would let the skipped tests run in one line, the most wanted first', () => {
  const bubblewrap = group('install bubblewrap', { type: 'module' });
  const browser = group(undefined, group('install Chromium'));
  expect(skipLine([bubblewrap, group(undefined, browser), browser])).toBe(
    '3 tests skipped: install Chromium (2), install bubblewrap (1)',
  );
  expect(skipLine([bubblewrap])).toBe('1 test skipped: install bubblewrap');
});

it('says nothing about tests that are skipped for another reason', () => {
  expect(skipLine([group(undefined, { type: 'module' })])).toBeUndefined();
});

it('skips a test whose program is not in PATH, and no other', () => {
  vi.stubEnv('PATH', '/nowhere');
  expect(needs('bubblewrap', 'openssl')).toEqual({ skip: true, meta: { missing: 'install bubblewrap' } });
  expect(skipUnless(true, 'never')).toEqual({});
});

it('fails instead of skipping the tests of the page where a browser is required', () => {
  vi.stubEnv('CHROMIUM', '/nowhere/chromium');
  vi.stubEnv('PARLEY_REQUIRE_BROWSER', undefined);
  expect(needs('Chromium').skip).toBe(true);
  vi.stubEnv('PARLEY_REQUIRE_BROWSER', '1');
  expect(() => needs('Chromium')).toThrow('there is no Chromium');
});
