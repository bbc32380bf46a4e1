/** The table of threats only names tests that exist, and no threat is left out. */
import { describe, expect, it } from 'vitest';
import { readText } from './pages.ts';

const ROW = /^\| (\d+) \| ([^|]+) \| (\w+) \| ([^|]+) \| `([^`]+)`: `+(.+?)`+ \|/gm;
/** How many there are: one that is added needs a row. */
const THREATS = 65;

const rows = [...readText('docs/threats.md').matchAll(ROW)].map(
  ([, number = '', threat = '', verdict = '', , file = '', title = '']) => ({
    number: Number(number),
    threat,
    verdict,
    file,
    title,
  }),
);

describe('the table of threats', () => {
  it('numbers every threat, and names a test that defends against each', () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: THREATS }, (_, n) => n + 1));
    expect(new Set(rows.map(({ verdict }) => verdict))).toEqual(new Set(['holds']));
  });

  it.each(rows)('names a test of $threat that exists', ({ file, title }) => {
    expect(readText(file)).toContain(title);
  });
});
