/** Sums the reports of several test runs for `.ci/run`: `node test/tally.ts <folder>` prints `N passed, N failed[, N skipped]`. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const reportSchema = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

export interface Tally {
  passed: number;
  failed: number;
  /** Tests that ran in none of the runs; one that was skipped here and ran there is not among them. */
  skipped: number;
}

/**
 * Adds up vitest's JSON reports (`*.json`) and the steps beside them (`*.step`, holding `passed` or `failed`). A report
 * that is missing its content, a file that broke before its first test, and a run that failed for no test's sake count
 * as one failure each.
 */
export function tally(folder: string): Tally {
  const sum: Tally = { passed: 0, failed: 0, skipped: 0 };
  const ran = new Set<string>();
  const skipped = new Set<string>();
  for (const name of readdirSync(folder)) {
    const text = readFileSync(path.join(folder, name), 'utf8');
    if (name.endsWith('.step')) sum[text.trim() === 'passed' ? 'passed' : 'failed'] += 1;
    if (name.endsWith('.json')) addReport(text, sum, ran, skipped);
  }
  sum.skipped = [...skipped].filter((test) => !ran.has(test)).length;
  return sum;
}

function addReport(text: string, sum: Tally, ran: Set<string>, skipped: Set<string>): void {
  const report = reportSchema.safeParse(parseOrNothing(text));
  if (!report.success) {
    sum.failed += 1;
    return;
  }
  const before = sum.failed;
  for (const file of report.data.testResults) {
    const results = file.assertionResults;
    if (file.status === 'failed' && !results.some((test) => test.status === 'failed')) sum.failed += 1;
    for (const test of results) {
      const key = `${file.name} ${test.fullName}`;
      if (test.status === 'passed' || test.status === 'failed') {
        sum[test.status] += 1;
        ran.add(key);
      } else skipped.add(key);
    }
  }
  if (!report.data.success && sum.failed === before) sum.failed += 1;
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The run ended before it could report: it fails the schema, and counts as failed.
    return undefined;
  }
}

/** The line people and machines read last. */
export function describeTally({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sum = tally(process.argv[2] ?? '.');
  process.stdout.write(`${describeTally(sum)}\n`);
  process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0;
}
