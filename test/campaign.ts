/**
 * Long campaigns of random or repeated steps, at two sizes: in full if CAMPAIGN is `all` (`npm run test:campaign`),
 * else a tenth, so that `npm test` stays short. `npm run test:campaign` finds its files by their import of this one.
 */

/** True if campaigns of many minutes run in full. */
export const runsAll = process.env['CAMPAIGN'] === 'all';

/** The share of a campaign that runs now. */
const SHARE = runsAll ? 1 : 0.1;

/** How many steps of `full` a campaign runs now, at least one. */
export function campaignSize(full: number): number {
  return Math.max(1, Math.ceil(full * SHARE));
}

/** The cases a campaign runs now: all, or its share of them, spread evenly from the first on, at least `least`. */
export function campaignCases<Case>(all: readonly Case[], least = 6): Case[] {
  const size = Math.min(all.length, Math.max(campaignSize(all.length), least));
  return runsAll
    ? [...all]
    : Array.from({ length: size }, (_, at) => all[Math.floor((at * all.length) / size)]!);
}

/** Writes a line for every tenth of a campaign in full: the test runner itself reports only whole files. */
export function noteProgress(what: string, done: number, of: number): void {
  if (runsAll && done % Math.ceil(of / 10) === 0) process.stderr.write(`${what}: ${done} of ${of}\n`);
}
