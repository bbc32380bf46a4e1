/** The row of a campaign: its bars are reported, met or missed. */
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../campaign.ts';
import { COLUMNS, missedBars, tableRow } from './report.ts';
import { emptySpread, type Pause } from './times.ts';

const BARS = { resumeMs: 2_000, ambiguousShare: 0.005 };
const NAME = { campaign: 'kills', database: 'embedded', seed: 1 };

/** A run of 400 messages with a kill for each time to resume, unless `more` has a `count`. */
function outcome(
  times: number[],
  ambiguous: number,
  more: { count?: number; neverAsked?: number } = {},
  again = 0,
): Outcome {
  const resume: Pause[] = times.map((ms) => ({ ms }));
  for (let at = 0; at < again; at += 1) resume.push({ ms: 9_000, struckAgainMs: 100 });
  return {
    verdict: {
      lost: [],
      reordered: [],
      storedTwice: [],
      effectsTwice: [],
      seenTwice: [],
      ambiguous: Array.from({ length: ambiguous }, () => 'shows twice'),
      failed: [],
      orphans: [],
      exits: [],
    },
    strikes: [],
    times: new Map([['kill', { ...emptySpread(resume.length), resume, ...more }]]),
    readyMs: [],
    messages: 400,
  };
}

function cell(row: string, column: (typeof COLUMNS)[number]): string | undefined {
  return row.split(' | ')[COLUMNS.indexOf(column)];
}

describe('the row of a campaign', () => {
  it('shows the bars next to the measurements', () => {
    const run = outcome([800, 1_900], 3, { count: 20 });
    expect(missedBars(run, BARS)).toEqual({});
    const row = tableRow(NAME, run, BARS);
    expect(cell(row, 'ambiguous')).toBe('3 (0.75 %; bar 0.43 % of 0.50 %)');
    expect(cell(row, 'resume p50/p95 (s)')).toBe('kill 1.90/1.90; bar p95 2.00');
  });

  it('reports which bars were missed', () => {
    const run = outcome([800, 2_100], 4, { count: 20 });
    expect(Object.values(missedBars(run, BARS))).toEqual([
      'resume p95 2.10 s, bar 2 s',
      'ambiguous 0.57 % at one kill per 35 messages, bar 0.50 %',
    ]);
    const row = tableRow(NAME, run, BARS);
    expect(cell(row, 'ambiguous')).toBe('4 (1.00 %; bar 0.57 % of 0.50 % MISSED)');
    expect(cell(row, 'resume p50/p95 (s)')).toBe('kill 2.10/2.10; bar p95 2.00 MISSED');
  });

  it('reports how many times were cut short by a further failure, and how many are missing', () => {
    const row = tableRow(NAME, outcome([800], 0, { neverAsked: 1 }, 2));
    expect(cell(row, 'resume p50/p95 (s)')).toBe('kill 0.80/0.80 (2 struck again, 1 never asked)');
    expect(cell(row, 'ambiguous')).toBe('0 (0.00 %)');
  });
});
