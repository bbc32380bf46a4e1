/** Reports of replays and evaluations: for a terminal, as JSON, and as JUnit's XML. */
import { DOMParser } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { evalJson, evalJunit, evalText, hasPassed, replayText } from '../../../src/ops/evals/report.ts';
import { itemOf } from './replays.ts';

const FINE = { check: 'answers', pass: true };
const WRONG = { check: 'contains "Rome"', pass: false, detail: 'it does not: "<Paris> & \u0007"' };
const REPORT = {
  set: 'trips',
  models: ['big', 'bigger'],
  profile: null,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:01:00.000Z',
  items: [
    itemOf('big', [FINE], { cost: { amount: 0.25, currency: 'EUR' } }),
    itemOf('bigger', [FINE, WRONG], { answer: 'Paris ]]> \u001b[31m' }),
  ],
};

describe('a report', () => {
  it('puts two answers side by side, wrapped to the terminal and without control characters', () => {
    const item = itemOf('big', [FINE], {
      answer: `Paris. ${'word '.repeat(20)}\u001b[31m`,
      calls: [{ name: 'look', args: { word: 'x' } }],
    });
    const text = replayText({ ...item.report, missing: ['the profile guide no longer exists'] }, 80);
    const lines = text.split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(84);
    expect(text).toMatch(/It is Paris\. +│ +Paris\. word/);
    expect(text).toContain('✗ not run look({"word":"x"})');
    expect(text).toContain('Not as it was:\n  - the profile guide no longer exists');
    expect(text).not.toContain('\u001b');
  });

  it('has a row for each model, and each check that failed', () => {
    expect(evalText(REPORT).split('\n')).toEqual([
      'Set trips, 1 turns',
      '',
      expect.stringContaining('model time'),
      expect.stringMatching(/^as it was +1,000 +20 +900 ms$/),
      expect.stringMatching(/^big +1\/1 +1,000 +20 +900 ms +€0\.25$/),
      expect.stringMatching(/^bigger +0\/1 /),
      '',
      '✗ bigger  t1  What is the capital of France?',
      expect.stringContaining('contains "Rome": it does not'),
    ]);
    expect(hasPassed(REPORT)).toBe(false);
    expect(hasPassed({ ...REPORT, items: REPORT.items.slice(0, 1) })).toBe(true);
    expect(hasPassed({ ...REPORT, items: [] })).toBe(false);
  });

  it('is JSON with the sums of each model', () => {
    const json = JSON.parse(evalJson(REPORT));
    expect(json).toMatchObject({ set: 'trips', passed: false });
    expect(json.totals).toMatchObject([
      { model: 'big', tests: 1, passed: 1, cost: { amount: 0.25, currency: 'EUR' } },
      { model: 'bigger', tests: 1, passed: 0, cost: null },
    ]);
  });

  it('is XML that a parser reads, whatever the answers contain', () => {
    const failed = itemOf('bigger', [{ check: 'answers', pass: false, detail: 'away' }], { error: 'away' });
    const xml = evalJunit({ ...REPORT, items: [...REPORT.items, failed] });
    expect(['\u0007', '\u001b'].filter((sign) => xml.includes(sign))).toEqual([]);
    const root = new DOMParser().parseFromString(xml, 'text/xml');
    const suites = [...root.querySelectorAll('testsuite')];
    expect(suites.map((suite) => suite.getAttribute('failures'))).toEqual(['0', '1']);
    expect(suites.map((suite) => suite.getAttribute('errors'))).toEqual(['0', '1']);
    expect(root.querySelector('failure')?.getAttribute('message')).toBe('contains "Rome"');
    expect(root.querySelector('failure')?.textContent).toContain('<Paris> & \ufffd');
    expect(root.querySelector('error')?.textContent).toBe('answers: away');
    expect([...root.querySelectorAll('system-out')][1]?.textContent).toBe('Paris ]]> \ufffd[31m');
  });
});
