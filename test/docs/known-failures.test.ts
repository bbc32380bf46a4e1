/** The table of known failures only names tests that exist. */
import { describe, expect, it } from 'vitest';
import { readText } from './pages.ts';

const ROW = /^\| (\d+) \| ([^|]+) \| [^|]+ \| `([^`]+)`: `+(.+?)`+ \|$/gm;
const page = readText('docs/known-failures.md');
const rows = [...page.matchAll(ROW)].map(([, number = '', failure = '', file = '', title = '']) => ({
  number: Number(number),
  failure,
  file,
  title,
}));

describe('the table of known failures', () => {
  it('numbers every row', () => {
    expect(rows).toHaveLength(page.split('\n').filter((line) => /^\| \d/.test(line)).length);
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, nth) => nth + 1));
  });

  it.each(rows)('names a test that exists: $failure', ({ file, title }) => {
    expect(readText(file)).toContain(title);
  });
});
