/** The one table row a run is told in. */
import type { Outcome, Spread } from './campaign.ts';
import type { Verdict } from './checker.ts';
import { WINDOWS } from './windows.ts';

/** The columns of every row. */
export const COLUMNS = [
  'campaign',
  'database',
  'failures',
  'messages',
  'lost',
  'reordered',
  'stored twice',
  'effects twice',
  'seen twice',
  'ambiguous',
  'told failures',
  'orphans',
  'exits',
  'resume p50/p95 (s)',
  'takeover p50/p95 (s)',
  'seed',
] as const;

/** The first lines of the table. */
export const TABLE_HEAD = [line([...COLUMNS]), line(COLUMNS.map(() => '---'))];

export interface RunName {
  campaign: string;
  database: string;
  seed: number;
}

/** One row. */
export function tableRow(
  { campaign, database, seed }: RunName,
  { verdict, times, messages }: Outcome,
): string {
  const counts = [
    verdict.lost,
    verdict.reordered,
    verdict.storedTwice,
    verdict.effectsTwice,
    verdict.seenTwice,
    verdict.ambiguous,
    verdict.failed,
    verdict.orphans,
    verdict.exits,
  ];
  const failures = [...times].map(([name, { count }]) => `${count} ${name}`);
  return line([
    campaign,
    database,
    failures.join(', ') || 'none',
    String(messages),
    ...counts.map((list) => String(list.length)),
    spreads(times, 'resume'),
    spreads(times, 'takeover'),
    String(seed),
  ]);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** `kill 0.81/1.90`, for each failure that has any. */
function spreads(times: Outcome['times'], measure: keyof Spread): string {
  const cells = [...times].flatMap(([name, spread]) =>
    spread[measure].length === 0 ? [] : [`${name} ${seconds(spread[measure])}`],
  );
  return cells.join(', ') || '–';
}

/** p50 and p95 of milliseconds, in seconds. */
export function seconds(times: readonly number[]): string {
  return [0.5, 0.95].map((share) => (percentile(times, share) / 1_000).toFixed(2)).join('/');
}

/** The value below which the given share of the numbers lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Where the kills struck, and how long starts took; empty when nothing was killed. */
export function detailLine({ strikes, readyMs }: Outcome): string {
  if (strikes.length === 0) return '';
  const windows = WINDOWS.map(
    (window) => `${window} ${strikes.filter((strike) => strike.hits[window] > 0).length}`,
  );
  const busy = strikes.filter((strike) => strike.running >= 10).length;
  return `kills that struck ${windows.join(', ')}; ${busy} with ten turns or more; ready ${seconds(readyMs)} s`;
}

/** At most so many violations of a kind are told. */
const MAX_TOLD = 20;

/** Every violation by name; empty for a run without any. What is `expected` is none, and neither is `ambiguous`. */
export function violations(verdict: Verdict, expected: readonly (keyof Verdict)[] = []): string[] {
  const { ambiguous: _, ...zeros } = verdict;
  return Object.entries(zeros)
    .filter(([kind]) => !expected.some((name) => name === kind))
    .flatMap(([kind, list]) => list.slice(0, MAX_TOLD).map((what) => `${kind}: ${what}`));
}
