/** The sum `.ci/run` ends with: nothing that failed may be missing from it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTally, tally } from './tally.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'parley-tally-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a report of one file; `tests` are names and how they ended. */
function report(
  run: string,
  tests: Record<string, string>,
  more: { success?: boolean; status?: string } = {},
): void {
  const assertionResults = Object.entries(tests).map(([fullName, status]) => ({ fullName, status }));
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

  it('takes a failed step, a missing report, a broken file and a run that failed without a test for failures', () => {
    writeFileSync(path.join(folder, 'check.step'), 'failed\n');
    writeFileSync(path.join(folder, 'died.json'), '');
    report('broken', {}, { status: 'failed', success: false });
    report('leaked', { a: 'passed' }, { success: false });
    expect(tally(folder)).toEqual({ passed: 1, failed: 4, skipped: 0 });
  });
});
