/** Gateways killed in the middle of everything: nothing is lost, reordered or done twice. */
import { describe, expect, it } from 'vitest';
import { campaignCases, campaignSize } from '../campaign.ts';
import { runCampaign } from '../crash/campaign.ts';
import type { CampaignOptions, Moment, Outcome } from '../crash/campaign.ts';
import { reportLine } from '../crash/report.ts';

const SERVER = process.env['DATABASE_URL'];
const NOTHING = { lost: [], reordered: [], duplicated: [], toolsTwice: [], failed: [] };
const SEED = 7;
const MOMENTS = campaignCases<Moment>(['busy', 'T4', 'busy', 'T1', 'busy', 'T7'], 2);
const MESSAGES = 20 * MOMENTS.length;
if (SERVER === undefined) {
  process.stderr.write(
    'SKIPPED: kill -9 on Postgres and of two gateways, because DATABASE_URL is not set.\n',
  );
}

async function campaign(name: string, options: Omit<CampaignOptions, 'seed'>): Promise<Outcome> {
  const outcome = await runCampaign({ seed: SEED, ...options });
  process.stderr.write(`${reportLine(name, SEED, outcome)}\n`);
  return outcome;
}

describe.each([
  { database: 'embedded', postgresUrl: undefined, isHere: process.env['ONLY_DATABASE'] !== 'postgres' },
  { database: 'postgres', postgresUrl: SERVER, isHere: SERVER !== undefined },
])('a gateway on $database', ({ database, postgresUrl, isHere }) => {
  it.skipIf(!isHere)(
    'loses, reorders and repeats nothing when it is killed in the middle of a dozen turns',
    async () => {
      const { verdict, strikes, messages } = await campaign(`kill -9, ${database}`, {
        postgresUrl,
        messages: MESSAGES,
        sessions: 12,
        telegramSessions: 2,
        moments: MOMENTS,
      });
      expect(verdict).toMatchObject(NOTHING);
      expect(messages).toBeGreaterThanOrEqual(MESSAGES);
      expect(strikes.filter(({ running }) => running >= 10).length).toBeGreaterThanOrEqual(
        MOMENTS.length / 2,
      );
    },
    240_000,
  );
});

describe.skipIf(SERVER === undefined)('two gateways on one Postgres', () => {
  it('lose, reorder and repeat nothing when they are killed in turn, and take over from each other', async () => {
    const { verdict, strikes } = await campaign('kill -9 of two in turn', {
      postgresUrl: SERVER,
      messages: 0,
      sessions: 10,
      telegramSessions: 1,
      moments: ['busy', 'any'],
      gateways: 2,
      forMs: campaignSize(12_000),
    });
    expect(verdict).toMatchObject(NOTHING);
    expect(strikes.some(({ running }) => running > 0)).toBe(true);
  }, 240_000);
});
