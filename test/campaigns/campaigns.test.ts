/** Campaigns at their minimum size: nothing is lost, reordered, duplicated or left over. */
import { describe, expect, it } from 'vitest';
import { TABLE_HEAD, tableRow, violations } from '../crash/judge/report.ts';
import { serverUrl } from '../database.ts';
import { skipUnless } from '../runs/needs.ts';
import { campaigns } from './index.ts';

const SEED = 7;
/** Far below what any campaign scales to: each runs at its minimum size. */
const SHARE = 0.0001;

/** The kills on both databases, power cuts, and what needs a Postgres server. The others take too long for a test. */
const USUAL = [
  'asks on postgres',
  'budgets on postgres',
  'kills on embedded',
  'kills on postgres',
  'links on embedded',
  'nodes on postgres',
  'postgres on postgres',
  'power-cuts on embedded',
  'undo on embedded',
  'work on postgres',
  'workers on postgres',
];

const runs = campaigns.flatMap((campaign) =>
  campaign.databases
    .filter((database) => USUAL.includes(`${campaign.name} on ${database}`))
    .map((database) => ({ campaign, database, name: campaign.name })),
);

describe('a campaign', () => {
  for (const { campaign, database, name } of runs) {
    const missing = campaign.missing?.();
    const options = { ...skipUnless(missing === undefined, missing ?? ''), timeout: 300_000 };
    it(`${name} on ${database} finds no violation`, options, async () => {
      const outcome = await campaign.run({ database, postgresUrl: serverUrl(), share: SHARE, seed: SEED });
      const row = tableRow({ campaign: name, database, seed: SEED }, outcome, campaign.bars);
      process.stderr.write(`${[...TABLE_HEAD, row].join('\n')}\n`);
      expect(violations(outcome.verdict, campaign.expected)).toEqual([]);
      expect([...outcome.times.values()].every(({ count }) => count > 0)).toBe(true);
      expect(outcome.messages).toBeGreaterThan(0);
    });
  }
});
