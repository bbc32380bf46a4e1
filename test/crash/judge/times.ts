/** How long work stood still: from each failure to the first model call of a question it struck. */
import type { FailureResult } from '../failure.ts';
import type { Asked } from '../scenario.ts';

/** How long work stood still after one failure. */
export interface Pause {
  /** To the first model call of a struck question, through any further failures, in milliseconds. */
  ms: number;
  /** To the next failure, in milliseconds, when that came first: nobody knows when work would have resumed without it. */
  struckAgainMs?: number;
}

/** The cost of a kind of failure. */
export interface Spread {
  /** How often it struck. */
  count: number;
  resume: Pause[];
  takeover: Pause[];
  /** Failures after which the model got no struck question again, for example because an answer was already complete. */
  neverAsked: number;
}

/** Nothing struck yet. */
export function emptySpread(count = 0): Spread {
  return { count, resume: [], takeover: [], neverAsked: 0 };
}

/** By name of the failure. A failure that struck no running question has no time; any other is counted to its end. */
export function timesOf(
  results: readonly (Pick<FailureResult, 'since' | 'measure' | 'struck'> & { name: string })[],
  asked: readonly Asked[],
): Map<string, Spread> {
  const times = new Map<string, Spread>();
  for (const [at, { name, since, measure, struck }] of results.entries()) {
    const spread = times.get(name) ?? emptySpread();
    times.set(name, spread);
    spread.count += 1;
    if (struck?.size === 0) continue;
    const first = asked.find(
      (question) =>
        question.at > since && (struck === undefined || struck.has(`${question.session}#${question.index}`)),
    );
    if (first === undefined) {
      spread.neverAsked += 1;
      continue;
    }
    const next = results[at + 1];
    const ms = first.at - since;
    const wasFirst = next === undefined || first.at <= next.since;
    spread[measure].push(wasFirst ? { ms } : { ms, struckAgainMs: next.since - since });
  }
  return times;
}

/**
 * The time within which work resumes after more than the given share of failures, as far as the run can tell (Kaplan and Meier,
 * 1958): a failure that another one followed first counts for as long as it was watched. Leaving such failures out
 * would favour short times, because a long pause is the likeliest to be struck; counting them through the next one
 * would add up two. NaN without failures, infinite when too many of the longest were struck again.
 */
export function pauseWithin(pauses: readonly Pause[], share: number): number {
  if (pauses.length === 0) return Number.NaN;
  const watched = pauses
    .map(({ ms, struckAgainMs }) => ({ ms: struckAgainMs ?? ms, resumed: struckAgainMs === undefined }))
    .toSorted((a, b) => a.ms - b.ms || Number(b.resumed) - Number(a.resumed));
  let paused = 1;
  for (const [at, { ms, resumed }] of watched.entries()) {
    if (!resumed) continue;
    paused *= 1 - 1 / (watched.length - at);
    // Such products are not exact.
    if (paused < 1 - share - 1e-9) return ms;
  }
  return Infinity;
}
