/** What counts as proof of a behavior row. */
import { describe, expect, it } from 'vitest';
import { proofOf, rowsIn, titlesIn } from './rows.ts';

function reportOf(...tests: [title: string, status: string][]) {
  const assertionResults = tests.map(([title, status]) => ({ title, fullName: `story ${title}`, status }));
  return { testResults: [{ name: 'a.test.ts', assertionResults }] };
}

describe('the rows of a title', () => {
  it.each([
    ['streams (N-01)', ['N-01']],
    ['ends (N-60…N-62)', ['N-60', 'N-61', 'N-62']],
    ['keeps order (B-14, S-03)', ['B-14', 'S-03']],
    ['names one twice (B-14, B-14)', ['B-14']],
    ['T1-T7, UN-01x and N-1 are no rows', []],
  ])('are found, case %#', (title, rows) => {
    expect(rowsIn(title)).toEqual(rows);
  });
});

describe('the titles of a file', () => {
  it('are those of every kind of test, whatever makes the suite', () => {
    const text = `
      describe('a bus (N-01)', () => {
        it('streams (N-02)', () => {});
        it.each([1, 2])('counts %i (N-03)', () => {});
        it.skipIf(isOld)(\`ends \${name} (N-04)\`, async () => {});
        item('is none (N-05)', () => {});
      });`;
    expect(titlesIn(text)).toEqual(['streams (N-02)', 'counts %i (N-03)', 'ends … (N-04)']);
  });
});

describe('a row', () => {
  it('is proved by a test that names it and passed', () => {
    const { proved, missing } = proofOf(reportOf(['streams (N-01)', 'passed'], ['again (N-01)', 'passed']));
    expect(proved.get('N-01')).toEqual(['story streams (N-01)', 'story again (N-01)']);
    expect(missing).not.toContain('N-01');
    expect(missing).toHaveLength(73 + 50 + 49 - 1);
  });

  it.each(['failed', 'skipped', 'pending', 'todo'])('is not proved by a test that %s', (status) => {
    expect(proofOf(reportOf(['streams (N-01)', status])).missing).toContain('N-01');
  });

  it('is not proved by a test that names more than three', () => {
    const { proved, overloaded } = proofOf(reportOf(['does it all (N-60…N-63)', 'passed']));
    expect(proved.size).toBe(0);
    expect(overloaded).toEqual(['story does it all (N-60…N-63)']);
  });
});
