/** kill -9 at any time and right before each transaction, with sessions on every channel and effects in every third turn. */
import { runCampaign } from '../crash/campaign.ts';
import { killAt } from '../crash/failure.ts';
import type { Moment } from '../crash/moments.ts';
import { type Campaign, repeated, RESUME_MS, runOptions, scaled } from './campaign.ts';

const MOMENTS: Moment[] = ['busy', 'T4', 'any', 'busy', 'T1', 'T7', 'busy', 'T2', 'any', 'T5', 'T3', 'T6'];

export const kills: Campaign = {
  name: 'kills',
  about:
    '200 times kill -9 while 50 people write 5,000 messages over HTTP, Telegram, Discord, Slack and Matrix',
  databases: ['postgres', 'embedded'],
  bars: { resumeMs: RESUME_MS, ambiguousShare: 0.005 },
  run: (setup) =>
    runCampaign({
      ...runOptions(setup),
      messages: scaled(5_000, setup.share, 48),
      sessions: {
        http: scaled(24, setup.share, 8),
        telegram: scaled(13, setup.share, 2),
        discord: scaled(13, setup.share, 2),
        slack: scaled(13, setup.share, 2),
        matrix: scaled(13, setup.share, 2),
      },
      failures: repeated(MOMENTS, scaled(200, setup.share, 2)).map(killAt),
    }),
};
