/** How long work stood still: from each failure to the first model call of a question it struck. */
import type { FailureResult } from '../failure.ts';
import type { Asked } from '../scenario.ts';

/** The cost of a kind of failure; times in milliseconds. */
export interface Spread {
  /** How often it struck. */
  count: number;
  resume: number[];
  takeover: number[];
  /** Those of the times above during which nothing else struck. */
  undisturbed: number[];
  /** Times that include a further failure: it came before the model was asked again. */
  struckAgain: number;
  /** Failures after which the model got no struck question again, for example because an answer was already complete. */
  neverAsked: number;
}

/** Nothing struck yet. */
export function emptySpread(count = 0): Spread {
  return { count, resume: [], takeover: [], undisturbed: [], struckAgain: 0, neverAsked: 0 };
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
    spread[measure].push(first.at - since);
    if (next === undefined || first.at <= next.since) spread.undisturbed.push(first.at - since);
    else spread.struckAgain += 1;
  }
  return times;
}
