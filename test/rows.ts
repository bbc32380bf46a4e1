/**
 * Which behavior rows the tests prove. `npm run rows` reads the titles of all tests and prints `N-01  <file>: <title>` for each
 * row, without running any. Given reports of vitest (`npm run rows -- report.json`), only tests that ran and passed count.
 * Missing rows go to stderr; exits with 1 if a group of FINISHED lacks one.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from '@babel/parser';
import {
  type CallExpression,
  isCallExpression,
  isIdentifier,
  isMemberExpression,
  isStringLiteral,
  isTemplateLiteral,
  traverseFast,
} from '@babel/types';
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
/** A report as if every test in the sources had passed, each under its file. */
function readTitles(): Report {
  const files = globSync('test/**/*.test.ts', { cwd: root, exclude: (name) => name === 'node_modules' });
  return {
    testResults: files.toSorted().map((name) => ({
      name,
      assertionResults: titlesIn(readFileSync(path.join(root, name), 'utf8')).map((title) => ({
        title,
        fullName: `${name}: ${title}`,
        status: 'passed',
      })),
    })),
  };
}

/** The titles of the tests in a file: of `it`, of `it.each(…)` and the like, and of the functions of a suite that take one. */
export function titlesIn(text: string): string[] {
  const titles: string[] = [];
  traverseFast(parse(text, { sourceType: 'module', plugins: ['typescript'] }), (node) => {
    if (!isCallExpression(node) || !isTest(node.callee)) return;
    const [title] = node.arguments;
    if (isStringLiteral(title)) titles.push(title.value);
    else if (isTemplateLiteral(title)) titles.push(title.quasis.map(({ value }) => value.raw).join('…'));
  });
  return titles;
}

/** `it`, `it.skipIf(…)`, `it.each(…)`, `itOn(…)`: whatever begins with `it` or `test`. */
function isTest(callee: CallExpression['callee']): boolean {
  if (isIdentifier(callee)) return /^(it|test)(?![a-z])/.test(callee.name);
  if (isCallExpression(callee)) return isTest(callee.callee);
  return isMemberExpression(callee) && callee.object.type !== 'Super' && isTest(callee.object);
}

function readReport(file: string): Report {
  return reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reports = process.argv.slice(2).map(readReport);
  const report =
    reports.length === 0 ? readTitles() : { testResults: reports.flatMap(({ testResults }) => testResults) };
  const { proved, missing, overloaded } = proofOf(report);
  for (const [row, tests] of [...proved].sort(([a], [b]) => a.localeCompare(b)))
    process.stdout.write(`${row}  ${tests[0]}${tests.length > 1 ? `  (+${tests.length - 1})` : ''}\n`);
  for (const name of overloaded) process.stderr.write(`names more than ${MAX_ROWS_PER_TEST} rows: ${name}\n`);
  if (missing.length > 0) process.stderr.write(`not proved: ${missing.join(' ')}\n`);
  const lacking = FINISHED.filter((group) => missing.some((row) => row.startsWith(group)));
  for (const group of lacking) process.stderr.write(`group ${group} is listed as finished and is not\n`);
  process.exitCode = lacking.length > 0 || overloaded.length > 0 ? 1 : 0;
}
