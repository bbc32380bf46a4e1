/**
 * Long campaigns of random or repeated steps, at two sizes: in full if CAMPAIGN is `all` (`npm run test:campaign`),
 * else a tenth, so that `npm test` stays short. Those of seconds run in full in the gate, too. `npm run test:campaign`
 * finds its files by their import of this one.
 */

/** True if campaigns of many minutes run in full. */
export const runsAll = process.env['CAMPAIGN'] === 'all';

/** True in the gate, which leaves nothing out. */
export const isGate = process.env['CI'] !== undefined;

/** The share of a campaign that runs now. */
const SHARE = runsAll ? 1 : 0.1;

/** How many steps of `full` a campaign runs now, at least one. */
export function campaignSize(full: number): number {
  return Math.max(1, Math.ceil(full * SHARE));
}

/** Like `campaignSize`, but in full in the gate (`.ci/run`, which sets CI) as well: for what takes seconds. */
export function gateSize(full: number): number {
  return isGate ? full : campaignSize(full);
}

/** Like `campaignCases`, but all of them in the gate as well. */
export function gateCases<Case>(all: readonly Case[]): Case[] {
  return isGate ? [...all] : campaignCases(all);
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
