/** What the gateway knows about Discord before it loads the channel: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import { withSlash } from '../../src/protocol/isomorphic/fill-text.js';
import { settings, SNOWFLAKE } from './config.ts';

export const manifest = defineChannel({
  name: 'discord',
  label: 'Discord',
  writeCommand: withSlash,
  needs: 'DISCORD_BOT_TOKEN',
  tokenPage: 'https://discord.com/developers/applications',
  env: z.object({
    DISCORD_BOT_TOKEN: z
      .string()
      .regex(
        /^[\w-]+\.[\w-]+\.[\w-]+$/,
        'must be the token alone, three parts with dots between them, as the Developer Portal shows it',
      )
      .optional()
      .describe('switches Discord on'),
    DISCORD_API_ROOT: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .describe("another address of Discord's API, for tests"),
  }),
  settings,
  // The ids of direct messages and of server channels look alike.
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
    const { check } = await import('./check.ts');
    const { DISCORD_BOT_TOKEN: token = '', DISCORD_API_ROOT: apiRoot } = env;
    return await check({ token, apiRoot }, context);
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { DISCORD_BOT_TOKEN: token = '', DISCORD_API_ROOT: apiRoot } = env;
    return create({ token, apiRoot, ...settings }, deps);
  },
});
