/** How long work stood still: from each failure to the first model call of a question that was in progress. */
import type { FailureResult } from '../failure.ts';
import type { Asked } from '../scenario.ts';

/** How long work stood still after one failure. */
export interface Pause {
  /** To the first model call of a question in progress, through any further failures, in milliseconds. */
  ms: number;
  /** To the next failure, in milliseconds, when that came first: nobody knows when work would have resumed without it. */
  struckAgainMs?: number;
}

/** The cost of a kind of failure. */
export interface Spread {
  /** How often it struck. */
  count: number;
  /** To a question that the failure struck, or that an earlier one had struck and nobody had resumed. */
  resume: Pause[];
  /** The same to a question that the failure itself struck: later, where those that waited already go first. */
  resumeOfRunning: Pause[];
  takeover: Pause[];
  /** Failures after which the model got no struck question again, for example because an answer was already complete. */
  neverAsked: number;
}

/** Nothing struck yet. */
export function emptySpread(count = 0): Spread {
  return { count, resume: [], resumeOfRunning: [], takeover: [], neverAsked: 0 };
}

type Struck = Pick<FailureResult, 'since' | 'diedAt' | 'measure' | 'struck' | 'waiting'> & { name: string };

/** By name of the failure. A failure that struck no running question has no time; any other is counted to its end. */
export function timesOf(results: readonly Struck[], asked: readonly Asked[]): Map<string, Spread> {
  const times = new Map<string, Spread>();
  for (const [at, result] of results.entries()) {
    const { name, measure, struck, waiting } = result;
    const spread = times.get(name) ?? emptySpread();
    times.set(name, spread);
    spread.count += 1;
    if (struck?.size === 0) continue;
    const wasRunning = (question: string): boolean => struck === undefined || struck.has(question);
    const wasInProgress = (question: string): boolean =>
      wasRunning(question) || waiting?.has(question) === true;
    const running = pauseOf(result, results[at + 1], asked, wasRunning);
    const pause = measure === 'resume' ? pauseOf(result, results[at + 1], asked, wasInProgress) : running;
    if (measure === 'resume' && running !== undefined) spread.resumeOfRunning.push(running);
    if (pause === undefined) spread.neverAsked += 1;
    else spread[measure].push(pause);
  }
  return times;
}

/** Until the first such question; undefined if there was none. */
function pauseOf(
  { since }: Struck,
  next: Struck | undefined,
  asked: readonly Asked[],
  counts: (question: string) => boolean,
): Pause | undefined {
  const first = asked.find(({ at, session, index }) => at > since && counts(`${session}#${index}`));
  if (first === undefined) return undefined;
  const ms = first.at - since;
  const endedAt = next === undefined ? Infinity : (next.diedAt ?? next.since);
  return first.at <= endedAt ? { ms } : { ms, struckAgainMs: Math.max(0, endedAt - since) };
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
