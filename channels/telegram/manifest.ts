/** Telegram as the gateway knows it before loading it: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel, MAX_EDIT_INTERVAL_MS } from '../../src/contracts/channel.ts';

/** Least milliseconds between two edits in one chat. */
const interval = z.int().min(1).max(MAX_EDIT_INTERVAL_MS);

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
          .default(3_100)
          .describe('the same in a group, where Telegram takes twenty messages a minute'),
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
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { TELEGRAM_BOT_TOKEN: token = '', TELEGRAM_API_ROOT: apiRoot } = env;
    return create({ token, apiRoot, ...settings }, deps);
  },
});
