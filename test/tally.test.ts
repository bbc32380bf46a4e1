/** The sum `.ci/run` ends with: nothing that failed may be missing from it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTally, failedFiles, slowestFiles, tally } from './tally.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'parley-tally-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a report of one file; `tests` are names and how they ended; every failure has the same error. */
function report(
  run: string,
  tests: Record<string, string>,
  more: { success?: boolean; status?: string } = {},
): void {
  const assertionResults = Object.entries(tests).map(([fullName, status]) => ({
    fullName,
    status,
    failureMessages: status === 'failed' ? ['Error: \u001b[31mtoo late\u001b[39m\n    at a.test.ts:1'] : [],
  }));
  const failed = assertionResults.some((test) => test.status === 'failed');
  const { success = !failed, status = failed ? 'failed' : 'passed' } = more;
  const content = { success, testResults: [{ name: 'a.test.ts', status, assertionResults }] };
  writeFileSync(path.join(folder, `${run}.json`), JSON.stringify(content));
}

describe('the tally', () => {
  it('adds runs and steps up', () => {
    report('one', { a: 'passed', b: 'passed' });
    report('two', { a: 'passed', b: 'failed' });
    writeFileSync(path.join(folder, 'check.step'), 'passed\n');
    expect(describeTally(tally(folder))).toBe('4 passed, 1 failed');
  });

  it('counts a test as skipped only when no run ran it', () => {
    report('one', { a: 'pending', b: 'skipped' });
    report('two', { a: 'passed', b: 'skipped' });
    expect(describeTally(tally(folder))).toBe('1 passed, 0 failed, 1 skipped');
  });

  it('counts a step that could not run on this machine as skipped', () => {
    writeFileSync(path.join(folder, 'check.step'), 'passed\n');
    writeFileSync(path.join(folder, 'tdlib.step'), 'skipped\n');
    expect(describeTally(tally(folder))).toBe('1 passed, 0 failed, 1 skipped');
  });

  it('counts failed steps, missing reports, broken files and runs that failed without a test as failures', () => {
    writeFileSync(path.join(folder, 'check.step'), 'failed\n');
    writeFileSync(path.join(folder, 'died.json'), '');
    report('broken', {}, { status: 'failed', success: false });
    report('leaked', { a: 'passed' }, { success: false });
    expect(tally(folder)).toMatchObject({ passed: 1, failed: 4, skipped: 0 });
    expect(tally(folder).failures).toContain('check');
  });

  it('counts a rerun file by its second run, and names what failed only alongside the others', () => {
    report('one', { a: 'failed', b: 'failed', c: 'passed' });
    report('one.again', { a: 'passed', b: 'failed', c: 'passed' });
    expect(tally(folder)).toEqual({
      passed: 2,
      failed: 1,
      skipped: 0,
      failures: ['a.test.ts: b'],
      unsteady: [{ name: 'a.test.ts: a', error: 'Error: too late' }],
    });
  });

  it('counts a file that broke before its tests, unless it passes when it is run again', () => {
    report('one', { a: 'skipped' }, { status: 'failed', success: false });
    report('one.again', { a: 'passed' });
    expect(tally(folder)).toMatchObject({ passed: 1, failed: 0, skipped: 0 });
    expect(tally(folder).unsteady).toEqual([{ name: 'a.test.ts', error: '' }]);
  });

  it('fails a run in which two tests passed only the second time', () => {
    report('one', { a: 'failed', b: 'failed', c: 'passed' });
    report('one.again', { a: 'passed', b: 'passed', c: 'passed' });
    expect(tally(folder)).toMatchObject({
      passed: 3,
      failed: 1,
      failures: ['2 tests that passed only the second time'],
    });
  });

  it('names the files that took longest, over all runs, the longest first', () => {
    const file = (name: string, endTime: number) => ({
      name: path.resolve(name),
      status: 'passed',
      startTime: 1_000,
      endTime,
      assertionResults: [],
    });
    const write = (run: string, ...testResults: unknown[]): void =>
      writeFileSync(path.join(folder, `${run}.json`), JSON.stringify({ success: true, testResults }));
    write('one', file('test/a.test.ts', 2_500), file('test/b.test.ts', 4_000));
    write('two', file('test/a.test.ts', 13_300));
    expect(slowestFiles(folder, 2)).toEqual([
      '   12.3 s  test/a.test.ts (two)',
      '    3.0 s  test/b.test.ts (one)',
    ]);
  });

  it('finds the files in which something failed, and none if there is no report', () => {
    report('one', { a: 'failed' });
    report('two', { a: 'passed' });
    expect(failedFiles(path.join(folder, 'one.json'))).toEqual(['a.test.ts']);
    expect(failedFiles(path.join(folder, 'two.json'))).toEqual([]);
    expect(failedFiles(path.join(folder, 'three.json'))).toEqual([]);
  });
});
