/** The table row that summarizes a run. */
import type { Outcome } from '../campaign.ts';
import type { Verdict } from './checker.ts';
import { type Pause, pauseWithin } from './times.ts';
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

/** What a campaign is measured by, in addition to its zeros. */
export interface Bars {
  /** p95 of the times to resume, in milliseconds; see `pauseWithin` for those that a further failure cut short. */
  resumeMs?: number;
  /** Share of ambiguous messages at one kill per `MESSAGES_PER_KILL` messages. */
  ambiguousShare?: number;
}

/**
 * How often the bar of the ambiguous messages assumes a kill. Each kill can leave some, so their share of all messages
 * depends on how dense the kills are; campaigns kill more often than this.
 */
const MESSAGES_PER_KILL = 35;

/** One row. */
export function tableRow({ campaign, database, seed }: RunName, outcome: Outcome, bars: Bars = {}): string {
  const { verdict, times, messages } = outcome;
  const counts = [
    verdict.lost,
    verdict.reordered,
    verdict.storedTwice,
    verdict.effectsTwice,
    verdict.seenTwice,
  ];
  const rest = [verdict.failed, verdict.orphans, verdict.exits];
  const missed = missedBars(outcome, bars);
  const barOf = (name: keyof Bars, bar: string): string =>
    bars[name] === undefined ? '' : `; bar ${bar}${missed[name] === undefined ? '' : ' MISSED'}`;
  const failures = [...times].map(([name, { count }]) => `${count} ${name}`);
  return line([
    campaign,
    database,
    failures.join(', ') || 'none',
    String(messages),
    ...counts.map((list) => String(list.length)),
    `${verdict.ambiguous.length} (${percent(messages === 0 ? 0 : verdict.ambiguous.length / messages)}${barOf('ambiguousShare', `${percent(ambiguousShare(outcome))} of ${percent(bars.ambiguousShare ?? 0)}`)})`,
    ...rest.map((list) => String(list.length)),
    `${spreads(times, 'resume')}${barOf('resumeMs', `p95 ${((bars.resumeMs ?? 0) / 1_000).toFixed(2)}`)}`,
    spreads(times, 'takeover'),
    String(seed),
  ]);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** The bars that a run missed, each as text. */
export function missedBars(
  outcome: Outcome,
  { resumeMs, ambiguousShare: most }: Bars,
): Partial<Record<keyof Bars, string>> {
  const resume = pauseWithin(allPauses(outcome, 'resume'), 0.95);
  const share = ambiguousShare(outcome);
  return {
    ...(resumeMs !== undefined &&
      resume > resumeMs && {
        resumeMs: `resume p95 ${(resume / 1_000).toFixed(2)} s, bar ${resumeMs / 1_000} s`,
      }),
    ...(most !== undefined &&
      share > most && {
        ambiguousShare: `ambiguous ${percent(share)} at one kill per ${MESSAGES_PER_KILL} messages, bar ${percent(most)}`,
      }),
  };
}

/** The share of ambiguous messages if the same kills had come once per `MESSAGES_PER_KILL` messages. */
function ambiguousShare({ verdict, times }: Outcome): number {
  const kills = [...times.values()].reduce((sum, { count }) => sum + count, 0);
  return kills === 0 ? 0 : verdict.ambiguous.length / (kills * MESSAGES_PER_KILL);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

function allPauses({ times }: Outcome, measure: 'resume' | 'takeover'): Pause[] {
  return [...times.values()].flatMap((spread) => spread[measure]);
}

/** `kill 0.81/1.90 (2 struck again)`, for each failure that has any. */
function spreads(times: Outcome['times'], measure: 'resume' | 'resumeOfRunning' | 'takeover'): string {
  const cells = [...times].flatMap(([name, spread]) => {
    const pauses = spread[measure];
    if (pauses.length === 0) return [];
    const again = pauses.filter(({ struckAgainMs }) => struckAgainMs !== undefined).length;
    const notes = [
      ...(again > 0 ? [`${again} struck again`] : []),
      ...(spread.neverAsked > 0 ? [`${spread.neverAsked} never asked`] : []),
    ];
    const [p50, p95] = [0.5, 0.95].map((share) => inSeconds(pauseWithin(pauses, share)));
    return [`${name} ${p50}/${p95}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`];
  });
  return cells.join(', ') || '–';
}

/** p50 and p95 of milliseconds, in seconds. */
function seconds(times: readonly number[]): string {
  return [0.5, 0.95].map((share) => inSeconds(percentile(times, share))).join('/');
}

function inSeconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

/** The value below which the given share of the numbers lies. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Where the kills struck, how long starts took, and all times to their end; empty when nothing was killed. */
export function detailLine(outcome: Outcome): string {
  const { strikes, readyMs } = outcome;
  if (strikes.length === 0) return '';
  const windows = WINDOWS.map(
    (window) => `${window} ${strikes.filter((strike) => strike.hits[window] > 0).length}`,
  );
  const busy = strikes.filter((strike) => strike.running >= 10).length;
  const pauses = [...allPauses(outcome, 'resume'), ...allPauses(outcome, 'takeover')];
  const running = spreads(outcome.times, 'resumeOfRunning');
  return `kills that struck ${windows.join(', ')}; ${busy} with ten turns or more; ready ${seconds(readyMs)} s; resume, counting only turns that the killed process was running: ${running} s; work stood still, through further failures, for ${seconds(pauses.map(({ ms }) => ms))} s`;
}

/** At most this many violations of a kind are reported. */
const MAX_REPORTED = 20;

/** Every violation by name; empty for a run without any. What is `expected` or `ambiguous` is not a violation. */
export function violations(verdict: Verdict, expected: readonly (keyof Verdict)[] = []): string[] {
  const { ambiguous: _, ...zeros } = verdict;
  return Object.entries(zeros)
    .filter(([kind]) => !expected.some((name) => name === kind))
    .flatMap(([kind, list]) => list.slice(0, MAX_REPORTED).map((what) => `${kind}: ${what}`));
}
