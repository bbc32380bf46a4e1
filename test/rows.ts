/**
 * Which behavior rows the tests prove: `npm run rows` prints `N-01  <test name>` for each row that a passed test names,
 * from the last complete run of `npm run test:nightly` (or a fresh one if that is older than HEAD or incomplete), or from the
 * reports that are named after it. Missing rows go to stderr; exits with 1 if a group of FINISHED lacks one.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Rows of each group of docs/behaviours.md. */
const GROUPS = { N: 73, S: 50, B: 49 } as const;
/** Groups that must be complete. */
const FINISHED: readonly Group[] = ['N', 'S', 'B'];
/** The most rows that one test may prove: more is a claim, not a proof. */
export const MAX_ROWS_PER_TEST = 3;

type Group = keyof typeof GROUPS;

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), title: z.string(), status: z.string() })),
    }),
  ),
});
type Report = z.infer<typeof reportSchema>;

export interface Proof {
  /** The names of the tests that prove a row. */
  proved: ReadonlyMap<string, string[]>;
  missing: string[];
  /** Tests that name more rows than they may; they prove none. */
  overloaded: string[];
}

/** Reads the proofs out of a report. Only tests that ran and passed count. */
export function proofOf(report: Report): Proof {
  const proved = new Map<string, string[]>();
  const overloaded: string[] = [];
  for (const { title, fullName, status } of report.testResults.flatMap((file) => file.assertionResults)) {
    const rows = rowsIn(title);
    if (rows.length > MAX_ROWS_PER_TEST) overloaded.push(fullName);
    else if (status === 'passed') {
      for (const row of rows) proved.set(row, [...(proved.get(row) ?? []), fullName]);
    }
  }
  const missing = Object.entries(GROUPS)
    .flatMap(([group, count]) => Array.from({ length: count }, (_, at) => rowId(group, at + 1)))
    .filter((row) => !proved.has(row));
  return { proved, missing, overloaded };
}

/** The rows a title names; a range stands for all its rows. */
export function rowsIn(title: string): string[] {
  const rows = new Set<string>();
  for (const [, group = '', first = '', last] of title.matchAll(/\b([NSB])-(\d\d)(?:…[NSB]-(\d\d))?/g)) {
    for (let at = Number(first); at <= Number(last ?? first); at += 1) rows.add(rowId(group, at));
  }
  return [...rows];
}

function rowId(group: string, at: number): string {
  return `${group}-${String(at).padStart(2, '0')}`;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const reportFile = path.join(root, 'test/.tmp/report.json');

/** The last report, if it covers a complete run and is no older than the newest commit. */
function lastReport(): Report | undefined {
  if (!existsSync(reportFile)) return undefined;
  const committedAt = Number(
    execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }),
  );
  if (statSync(reportFile).mtimeMs < committedAt * 1_000) return undefined;
  const report = readReport(reportFile);
  const ran = new Set(report.testResults.map(({ name }) => path.relative(root, name)));
  return globSync('test/**/*.test.ts', { cwd: root }).every((file) => ran.has(file)) ? report : undefined;
}

function readReport(file: string): Report {
  return reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

function freshReport(): Report {
  process.stderr.write(
    'No report of a whole run since the last commit: running npm run test:nightly first.\n',
  );
  spawnSync('npm', ['run', 'test:nightly'], { cwd: root, stdio: ['ignore', 2, 2] });
  const report = lastReport();
  if (report === undefined)
    throw new Error('npm run test:nightly left no report of a whole run at test/.tmp/report.json.');
  return report;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const named = process.argv.slice(2).map(readReport);
  const report =
    named.length === 0
      ? (lastReport() ?? freshReport())
      : { testResults: named.flatMap(({ testResults }) => testResults) };
  const { proved, missing, overloaded } = proofOf(report);
  for (const [row, tests] of [...proved].sort(([a], [b]) => a.localeCompare(b)))
    process.stdout.write(`${row}  ${tests[0]}${tests.length > 1 ? `  (+${tests.length - 1})` : ''}\n`);
  for (const name of overloaded) process.stderr.write(`names more than ${MAX_ROWS_PER_TEST} rows: ${name}\n`);
  if (missing.length > 0) process.stderr.write(`not proved: ${missing.join(' ')}\n`);
  const lacking = FINISHED.filter((group) => missing.some((row) => row.startsWith(group)));
  for (const group of lacking) process.stderr.write(`group ${group} is listed as finished and is not\n`);
  process.exitCode = lacking.length > 0 || overloaded.length > 0 ? 1 : 0;
}
