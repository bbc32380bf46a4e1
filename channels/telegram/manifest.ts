/** Telegram as the gateway knows it before loading it: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel, MAX_EDIT_INTERVAL_MS } from '../../src/contracts/channel.ts';

/** Least milliseconds between two edits in one chat. */
const interval = z.int().min(1).max(MAX_EDIT_INTERVAL_MS);
const count = z.int().min(1).max(100);
const perSecond = z.number().min(1).max(1_000);

export const manifest = defineChannel({
  name: 'telegram',
  label: 'Telegram',
  needs: 'TELEGRAM_BOT_TOKEN',
  env: z.object({
    TELEGRAM_BOT_TOKEN: z
      .string()
      .regex(/^\d+:.+$/s, 'must look like <digits>:<secret>, as @BotFather gives it')
      .optional()
      .describe('switches Telegram on'),
    TELEGRAM_API_ROOT: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .describe('a Bot API server of your own'),
  }),
  settings: z.strictObject({
    /** Telegram allows about one message a second in a private chat, and twenty a minute in a group. */
    editIntervalMs: z
      .strictObject({
        private: interval
          .default(1_100)
          .describe('least milliseconds between two edits of a growing answer in a private chat'),
        group: interval
          .default(3_000)
          .describe('the same in a group, where Telegram takes twenty messages a minute'),
      })
      .prefault({}),
    /** "Short bursts" are allowed, says Telegram's FAQ. One call of them comes back per interval. */
    burst: z
      .strictObject({
        private: count
          .default(4)
          .describe('first messages and final texts that may go out at once in a private chat'),
        group: count.default(5).describe('the same in a group'),
      })
      .prefault({}),
    reservedForFinals: z
      .strictObject({
        private: z
          .int()
          .min(0)
          .max(100)
          .default(1)
          .describe('how many of the burst only final texts may use'),
        group: z
          .int()
          .min(0)
          .max(100)
          .default(2)
          .describe('the same in a group, also of the calls of a minute'),
      })
      .prefault({}),
    reactions: z
      .strictObject({
        private: z
          .boolean()
          .default(false)
          .describe(
            'show at a question in a private chat that it waits 👀, is worked on ✍, was answered 👌 or failed 😢',
          ),
        group: z.boolean().default(true).describe('the same in a group'),
      })
      .prefault({}),
    groupCallsPerMinute: z
      .int()
      .min(1)
      .max(1_000)
      .default(20)
      .describe('most messages and edits in one group in any minute'),
    /** Telegram's FAQ names about thirty messages a second for a bot. */
    callsPerSecond: z
      .strictObject({
        start: perSecond.default(28).describe('calls a second of the whole bot at first'),
        most: perSecond
          .default(60)
          .describe('what it may rise to while calls wait and Telegram refuses none'),
      })
      .prefault({}),
  }),
  ids: {
    userId: /^\d{1,20}$/,
    chatId: /^-?\d{1,20}$/,
    description: 'a numeric id such as 123456789',
    // Groups have ids below zero.
    privacyOf: (chatId) => (chatId.startsWith('-') ? 'group' : 'private'),
    // A private chat has the id of its person.
    privateChatOf: (userId) => userId,
  },
  secretShapes: [{ pattern: /(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/, replacement: '[telegram-token]' }],
  isOn: ({ TELEGRAM_BOT_TOKEN }) => TELEGRAM_BOT_TOKEN !== undefined,
  secrets: ({ TELEGRAM_BOT_TOKEN }) => [TELEGRAM_BOT_TOKEN],
  async check({ env, access }, context) {
    const { check } = await import('./checks/token.ts');
    const { TELEGRAM_BOT_TOKEN: token = '', TELEGRAM_API_ROOT: apiRoot } = env;
    return await check({ token, apiRoot, access }, context);
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { TELEGRAM_BOT_TOKEN: token = '', TELEGRAM_API_ROOT: apiRoot } = env;
    return create({ token, apiRoot, ...settings }, deps);
  },
});
