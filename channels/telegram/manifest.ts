/** What the gateway knows about Telegram before it loads the channel: its settings, its ids and its secrets. */
import { z } from 'zod';
import { STREAM_MODES } from '../../src/protocol/delivery.ts';
import { defineChannel } from '../../src/protocol/channel.ts';
import { editInterval, reactionSettings } from '../../src/protocol/channel-settings.ts';
import { withSlash } from '../../src/protocol/isomorphic/fill-text.js';

const count = z.int().min(1).max(100);
const perSecond = z.number().min(1).max(1_000);

export const manifest = defineChannel({
  name: 'telegram',
  label: 'Telegram',
  writeCommand: withSlash,
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
    TELEGRAM_WEBHOOK_SECRET: z
      .string()
      .regex(/^[\w-]{16,256}$/, 'must be 16 to 256 of A-Z, a-z, 0-9, _ and -')
      .optional()
      .describe(
        'secret that Telegram sends with each webhook request; by default, it is derived from the bot token',
      ),
  }),
  settings: z.strictObject({
    webhook: z
      .strictObject({
        url: z
          .url({ protocol: /^https?$/, error: 'must be an https URL' })
          .describe(
            'public address of the gateway, to which Telegram then posts updates; without it, the gateway polls for them',
          ),
      })
      .optional(),
    /** Telegram allows about one message per second in a private chat, and twenty per minute in a group. */
    editIntervalMs: z
      .strictObject({
        private: editInterval(
          1_100,
          'minimum milliseconds between two edits of a growing answer in a private chat',
        ),
        group: editInterval(3_000, 'the same in a group, where Telegram takes twenty messages a minute'),
      })
      .prefault({}),
    stream: z
      .enum(STREAM_MODES)
      .default('edit')
      .describe(
        'how answers appear while they are written, in chats that have not chosen by `/stream`: `edit` in a message that grows, `draft` in a draft (private chats; groups as with `edit`), `off` only once they are complete',
      ),
    richMessages: z
      .enum(['auto', 'off'])
      .default('auto')
      .describe(
        'answers with a table, a formula, tasks or details, and those of more than 4,096 characters, are sent as one rich message where Telegram accepts it',
      ),
    draftIntervalMs: editInterval(1_100, 'minimum milliseconds between two drafts in a private chat'),
    /** Telegram's FAQ allows "short bursts". One call of the burst is restored per interval. */
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
    reactions: reactionSettings({
      private:
        'show at a question in a private chat that it waits 👀, is worked on ✍, was answered 👌 or failed 😢',
      group: 'the same in a group',
    }),
    groupCallsPerMinute: z
      .int()
      .min(1)
      .max(1_000)
      .default(20)
      .describe('maximum messages and edits in one group in any minute'),
    /** Telegram's FAQ names a limit of about thirty messages per second for a bot; some bots are refused from twenty on. */
    callsPerSecond: z
      .strictObject({
        start: perSecond.default(19).describe('calls a second of the whole bot at first'),
        usual: perSecond
          .default(28)
          .describe('what it rises to within seconds while calls wait, until Telegram refuses one'),
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
    return await check(token, apiRoot, access, settings.webhook?.url, context);
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { TELEGRAM_BOT_TOKEN: token = '', TELEGRAM_API_ROOT: apiRoot } = env;
    const webhook = settings.webhook && { ...settings.webhook, secret: env.TELEGRAM_WEBHOOK_SECRET };
    return create({ token, apiRoot, ...settings, webhook }, deps);
  },
});
