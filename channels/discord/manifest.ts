/** What the gateway knows about Discord before it loads the channel: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import { editInterval, paceSettings, reactionSettings } from '../../src/protocol/channel-settings.ts';
import { withSlash } from '../../src/protocol/isomorphic/fill-text.js';
import { german } from './german.ts';

const SNOWFLAKE = /^\d{1,20}$/;

export const manifest = defineChannel({
  name: 'discord',
  label: 'Discord',
  writeCommand: withSlash,
  needs: 'DISCORD_BOT_TOKEN',
  env: z.object({
    DISCORD_BOT_TOKEN: z
      .string()
      .regex(/^\S+$/, 'must be the token alone, as the Developer Portal shows it')
      .optional()
      .describe('switches Discord on'),
    DISCORD_API_ROOT: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .describe("another address of Discord's API, for tests"),
  }),
  settings: z.strictObject({
    editIntervalMs: editInterval(
      1_200,
      'least milliseconds between two edits of a growing answer in one channel or thread',
    ),
    burst: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe('first messages and final texts that may go out at once in a channel or thread'),
    /** Discord allows about five sends and five edits in five seconds. */
    callsPer5Seconds: z
      .int()
      .min(1)
      .max(100)
      .default(5)
      .describe('most messages and edits in one channel or thread in any five seconds'),
    reservedForFinals: z
      .int()
      .min(0)
      .max(100)
      .default(1)
      .describe('how many of both only final texts may use'),
    /** Discord allows a bot fifty calls a second; some of them do not come from answers. */
    callsPerSecond: paceSettings(
      { start: 45, most: 48 },
      {
        start: 'calls a second of the whole bot at first',
        most: 'what it may rise to while calls wait and Discord refuses none',
      },
    ),
    answerButtons: z
      .boolean()
      .default(true)
      .describe('a Stop button under a growing answer, and Regenerate under a finished one'),
    reactions: reactionSettings({
      private:
        'show at a question in a direct message that it waits ⏳, is worked on 👀, was answered ✅ or failed ❌',
      group: 'the same in a channel of a server',
    }),
    threads: z
      .strictObject({
        all: z.boolean().default(false).describe('open a thread for each question in a channel of a server'),
        channels: z
          .record(z.string().regex(SNOWFLAKE), z.boolean())
          .default({})
          .describe('the same for single channels, by their ids; wins'),
      })
      .prefault({}),
  }),
  // The ids of direct messages and of server channels look alike.
  german,
  ids: {
    userId: SNOWFLAKE,
    chatId: SNOWFLAKE,
    description: 'a numeric id such as 80351110224678912',
    threadsAreChats: true,
    memberships: true,
  },
  secretShapes: [
    { pattern: /\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}\b/, replacement: '[discord-token]' },
    { pattern: /\b(Bot) [A-Za-z0-9._~+/=-]{12,}/, replacement: '$1 [token]' },
  ],
  isOn: ({ DISCORD_BOT_TOKEN }) => DISCORD_BOT_TOKEN !== undefined,
  secrets: ({ DISCORD_BOT_TOKEN }) => [DISCORD_BOT_TOKEN],
  async check({ env }, context) {
    const { check } = await import('./checks/token.ts');
    const { DISCORD_BOT_TOKEN: token = '', DISCORD_API_ROOT: apiRoot } = env;
    return await check({ token, apiRoot }, context);
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { DISCORD_BOT_TOKEN: token = '', DISCORD_API_ROOT: apiRoot } = env;
    return create({ token, apiRoot, ...settings }, deps);
  },
});
