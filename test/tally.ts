/** Sums the reports of several test runs for `.ci/run`: `node test/tally.ts <folder>` ends with `N passed, N failed[, N skipped]`. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** Suffix of the report of a run in which what had failed was run again, alone. */
const AGAIN = '.again.json';
/** From this many tests on that pass only the second time, the run fails: one may be an accident. */
const TOO_UNSTEADY = 2;
/** How many of the slowest files are named. */
const SLOWEST = 20;

const reportSchema = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      startTime: z.number().default(0),
      endTime: z.number().default(0),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});
type Report = z.infer<typeof reportSchema>;
type FileReport = Report['testResults'][number];

export interface Tally {
  passed: number;
  failed: number;
  /** Tests that ran in none of the runs; one that was skipped in one run and ran in another is not among them. */
  skipped: number;
  /** What failed, by name. */
  failures: string[];
  /** What failed at first and passed when it ran again, alone: it counts as passed unless there are several. */
  unsteady: Failure[];
}

interface Failure {
  /** The file, and the test if it was one. */
  name: string;
  /** First line of its error. */
  error: string;
}

/**
 * Adds up vitest's JSON reports (`*.json`) and the steps next to them (`*.step`, holding `passed`, `failed` or `skipped`). A
 * report without content, a file that broke before its first test, and a run that failed with no failing test count as
 * one failure each. A file that ran again (`*.again.json`) counts by that second run; several tests that passed only then
 * are a failure, too.
 */
export function tally(folder: string): Tally {
  const sum: Tally = { passed: 0, failed: 0, skipped: 0, failures: [], unsteady: [] };
  const ran = new Set<string>();
  const skipped = new Set<string>();
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (name.endsWith('.step')) {
      const result = readFileSync(file, 'utf8').trim();
      if (result === 'passed') sum.passed += 1;
      else if (result === 'skipped') skipped.add(name);
      else addFailures(sum, [path.parse(name).name]);
    } else if (name.endsWith('.json') && !name.endsWith(AGAIN)) {
      const again = readReport(file.replace(/\.json$/, AGAIN));
      const report = readReport(file);
      if (report === undefined) addFailures(sum, [`the whole run ${name}`]);
      else addReport(report, again, { sum, ran, skipped });
    }
  }
  sum.skipped = [...skipped].filter((test) => !ran.has(test)).length;
  if (sum.unsteady.length >= TOO_UNSTEADY)
    addFailures(sum, [`${sum.unsteady.length} tests that passed only the second time`]);
  return sum;
}

function addReport(
  report: Report,
  again: Report | undefined,
  { sum, ran, skipped }: { sum: Tally; ran: Set<string>; skipped: Set<string> },
): void {
  for (const first of report.testResults) {
    const second = again?.testResults.find(({ name }) => name === first.name);
    const counts = second ?? first;
    const failures = failuresOf(counts).map(({ name }) => name);
    addFailures(sum, failures);
    if (second !== undefined)
      sum.unsteady.push(...failuresOf(first).filter(({ name }) => !failures.includes(name)));
    for (const test of counts.assertionResults) {
      if (test.status === 'passed') sum.passed += 1;
      const isOver = test.status === 'passed' || test.status === 'failed';
      (isOver ? ran : skipped).add(`${counts.name} ${test.fullName}`);
    }
  }
  if (!report.success && report.testResults.every((file) => failuresOf(file).length === 0)) {
    addFailures(sum, ['a run that failed, though none of its tests did']);
  }
}

function addFailures(sum: Tally, names: readonly string[]): void {
  sum.failed += names.length;
  sum.failures.push(...names);
}

/** The failed tests of a file; the file itself if it broke without one. */
function failuresOf({ name, status, message, assertionResults }: FileReport): Failure[] {
  const file = path.relative(process.cwd(), name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (failed.length === 0) return status === 'failed' ? [{ name: file, error: firstLine(message) }] : [];
  return failed.map(({ fullName, failureMessages }) => ({
    name: `${file}: ${fullName}`,
    error: firstLine(failureMessages?.[0] ?? ''),
  }));
}

const firstLine = (text: string): string => stripVTControlCharacters(text).split('\n', 1)[0] ?? '';

/** Files of a report in which something failed. Never throws. */
export function failedFiles(report: string): string[] {
  const files = readReport(report)?.testResults ?? [];
  return files.filter((file) => failuresOf(file).length > 0).map(({ name }) => name);
}

function readReport(file: string): Report | undefined {
  try {
    return reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // There was no such run, or it ended before it could report, which counts as a failure where a report was
    // expected.
    return undefined;
  }
}

/** The files that took longest in the runs of a folder, as lines `12.3 s  test/a.test.ts (run)`, the longest first. Never throws. */
export function slowestFiles(folder: string, count: number): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) =>
      (readReport(path.join(folder, name))?.testResults ?? []).map((file) => ({
        ms: file.endTime - file.startTime,
        line: `${path.relative(process.cwd(), file.name)} (${path.parse(name).name})`,
      })),
    )
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ ms, line }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${line}`);
}

/** The line people and machines read last. */
export function describeTally({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [first = '.', second] = process.argv.slice(2);
  if (first === '--failed') {
    process.stdout.write(failedFiles(second ?? '').join('\n'));
  } else {
    const sum = tally(first);
    process.stdout.write(`The files that took longest:\n${slowestFiles(first, SLOWEST).join('\n')}\n`);
    for (const test of sum.failures) process.stdout.write(`failed: ${test}\n`);
    for (const { name, error } of sum.unsteady)
      process.stdout.write(`passed only the second time: ${name}\n  the first time: ${error}\n`);
    process.stdout.write(`${describeTally(sum)}\n`);
    process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0;
  }
}
