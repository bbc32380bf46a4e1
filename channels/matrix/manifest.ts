/** What the gateway knows about Matrix before it loads the channel: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import {
  editInterval,
  followUpSetting,
  paceSettings,
  reactionSettings,
} from '../../src/protocol/channel-settings.ts';
import { ROOM_ID, USER_ID } from './events.ts';

export const manifest = defineChannel({
  name: 'matrix',
  label: 'Matrix',
  // Clients do not send messages that begin with `/`.
  writeCommand: (name) => `!${name}`,
  needs: 'MATRIX_TOKEN',
  alsoNeeds: { MATRIX_URL: 'Address of the bot’s homeserver, such as https://matrix.example.org' },
  env: z.object({
    MATRIX_URL: z
      .url({ protocol: /^https?$/, error: "must be the homeserver's http or https URL" })
      .optional()
      .describe('the homeserver of the bot, such as `https://matrix.example.org`'),
    MATRIX_TOKEN: z
      .string()
      .regex(/^\S+$/, 'must be the access token of the bot, without white space')
      .optional()
      .describe('switches Matrix on, together with `MATRIX_URL`'),
    MATRIX_RECOVERY_KEY: z
      .string()
      .regex(/^[1-9A-HJ-NP-Za-km-z\s]{40,80}$/, 'must be a recovery key such as EsTc 5rPG …')
      .optional()
      .describe('verifies the bot’s device if the account was used with Element before: its recovery key'),
  }),
  settings: z.strictObject({
    editIntervalMs: editInterval(
      2_000,
      'minimum milliseconds between two edits of a growing answer in one room',
    ),
    burst: z.int().min(2).max(100).default(5).describe('events that may go out at once in a room'),
    /** Synapse's `rc_message` by default. */
    accountBurst: z
      .int()
      .min(2)
      .max(1_000)
      .default(10)
      .describe(
        'events that may go out at once in all rooms together: `burst_count` of Synapse’s `rc_message`',
      ),
    reactions: reactionSettings({
      private:
        'show at a question in a direct chat that it waits ⏳, is worked on 👀, was answered ✅ or failed ❌',
      group: 'the same in a room of several people; each change is two events, which texts go before',
    }),
    followUps: followUpSetting('a thread'),
    /** Synapse accepts 0.2 by default; its refusal of a further event reveals the limit, and an account without a limit gets no refusals. */
    eventsPerSecond: paceSettings(
      { least: 0.1, start: 10, most: 20 },
      {
        start: 'events a second of the whole account at first',
        most: 'what it may rise to while edits wait and the homeserver refuses none',
      },
    ),
  }),
  ids: {
    userId: USER_ID,
    chatId: ROOM_ID,
    description: 'an id such as @ada:example.org or !garden:example.org',
  },
  secretShapes: [{ pattern: /\b(?:syt|mct|mat)_[A-Za-z0-9_-]{16,}/, replacement: '[matrix-token]' }],
  isOn: ({ MATRIX_TOKEN }) => MATRIX_TOKEN !== undefined,
  secrets: ({ MATRIX_TOKEN, MATRIX_RECOVERY_KEY }) => [MATRIX_TOKEN, MATRIX_RECOVERY_KEY],
  async check({ env }) {
    const { check } = await import('./check.ts');
    return await check(env.MATRIX_URL, env.MATRIX_TOKEN ?? '');
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { MATRIX_URL: url, MATRIX_TOKEN: token = '', MATRIX_RECOVERY_KEY: recoveryKey } = env;
    return create({ url, token, recoveryKey, ...settings }, deps);
  },
});
