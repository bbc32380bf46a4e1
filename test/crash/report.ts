/** The one line a crash run is told in. */
import type { Outcome } from './campaign.ts';
import { WINDOWS } from './windows.ts';

/** The value below which the given share of the numbers lies. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** What was done, what came of it, and where the kills struck. */
export function reportLine(
  failure: string,
  seed: number,
  { verdict, strikes, resumeMs, readyMs, messages }: Outcome,
): string {
  const { lost, reordered, duplicated, toolsTwice, failed, ambiguous } = verdict;
  const spread = (times: number[]): string =>
    [0.5, 0.95, 1].map((share) => Math.round(percentile(times, share))).join('/');
  const windows = WINDOWS.map(
    (window) => `${window} ${strikes.filter((strike) => strike.hits[window] > 0).length}`,
  ).join(' ');
  const busy = strikes.filter((strike) => strike.running >= 10).length;
  return [
    failure,
    `N ${messages}`,
    `kills ${strikes.length} (${busy} with >= 10 turns running)`,
    `lost ${lost.length}`,
    `reordered ${reordered.length}`,
    `dup-finals ${duplicated.length}`,
    `tools-twice ${toolsTwice.length}`,
    `failed ${failed.length}`,
    `ambiguous ${ambiguous}`,
    `resume p50/p95/max ${spread(resumeMs)} ms (ready ${spread(readyMs)} ms)`,
    `windows ${windows}`,
    `seed ${seed}`,
  ].join(', ');
}

/** Every failure by name; empty for a run without any. */
export function errorLines({ verdict }: Outcome): string[] {
  const { ambiguous: _, ...failures } = verdict;
  return Object.entries(failures).flatMap(([kind, list]) =>
    list.slice(0, 20).map((line) => `${kind}: ${line}`),
  );
}
