/**
 * Long campaigns of random or repeated steps, at two sizes: whole where CAMPAIGN=full (`.ci/run`, `npm run test:campaign`), else a
 * tenth, so that `npm test` stays short. `npm run test:campaign` finds its files by their import of this one.
 */

/** The share of a campaign that runs where CAMPAIGN is not `full`. */
const SHARE = 0.1;

const isFull = process.env['CAMPAIGN'] === 'full';

/** How many steps of `full` a campaign runs now, at least one. */
export function campaignSize(full: number): number {
  return isFull ? full : Math.max(1, Math.ceil(full * SHARE));
}

/** The cases a campaign runs now: all, or so many of them, spread evenly from the first on, at least `least`. */
export function campaignCases<Case>(all: readonly Case[], least = 6): Case[] {
  const size = Math.min(all.length, Math.max(campaignSize(all.length), least));
  return isFull
    ? [...all]
    : Array.from({ length: size }, (_, at) => all[Math.floor((at * all.length) / size)]!);
}
