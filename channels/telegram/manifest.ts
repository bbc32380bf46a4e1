/** What the gateway knows about Telegram before it loads the channel: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import { withSlash } from '../../src/protocol/isomorphic/fill-text.js';
import { settings } from './config.ts';

export const manifest = defineChannel({
  name: 'telegram',
  label: 'Telegram',
  writeCommand: withSlash,
  needs: 'TELEGRAM_BOT_TOKEN',
  tokenPage: 'https://t.me/BotFather',
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
    TELEGRAM_WEBHOOK_SECRET: z
      .string()
      .regex(/^[\w-]{16,256}$/, 'must be 16 to 256 of A-Z, a-z, 0-9, _ and -')
      .optional()
      .describe(
        'secret that Telegram sends with each webhook request; by default, it is derived from the bot token',
      ),
  }),
  settings,
  ids: {
    userId: /^\d{1,20}$/,
    chatId: /^-?\d{1,20}$/,
    description: 'a numeric id such as 123456789',
    // Groups have negative ids.
    privacyOf: (chatId) => (chatId.startsWith('-') ? 'group' : 'private'),
    // A private chat has the same id as its person.
    privateChatOf: (userId) => userId,
  },
  secretShapes: [{ pattern: /(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/, replacement: '[telegram-token]' }],
  isOn: ({ TELEGRAM_BOT_TOKEN }) => TELEGRAM_BOT_TOKEN !== undefined,
  secrets: ({ TELEGRAM_BOT_TOKEN, TELEGRAM_WEBHOOK_SECRET }) => [TELEGRAM_BOT_TOKEN, TELEGRAM_WEBHOOK_SECRET],
  async check({ env, settings, access }, context) {
    const { check } = await import('./check.ts');
    const { TELEGRAM_BOT_TOKEN: token = '', TELEGRAM_API_ROOT: apiRoot } = env;
    return await check(token, apiRoot, access, settings, context);
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { TELEGRAM_BOT_TOKEN: token = '', TELEGRAM_API_ROOT: apiRoot } = env;
    const webhook = settings.webhook && { ...settings.webhook, secret: env.TELEGRAM_WEBHOOK_SECRET };
    return create({ token, apiRoot, ...settings, webhook }, deps);
  },
});
