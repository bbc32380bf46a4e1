/** The settings of Telegram. */
import { z } from 'zod';
import { editInterval, reactionSettings } from '../../src/protocol/channel-settings.ts';
import { STREAM_MODES } from '../../src/protocol/delivery.ts';
import type { WebhookConfig } from './receiving/update-sources.ts';

const count = z.int().min(1).max(100);
const perSecond = z.number().min(1).max(1_000);

/** `channels.telegram` of config.json. */
export const settings = z.strictObject({
  webhook: z
    .strictObject({
      url: z
        .url({ protocol: /^https?$/, error: 'must be an https URL' })
        .describe(
          'public address of the gateway, to which Telegram then posts updates; without it, the gateway polls for them',
        ),
    })
    .optional(),
  inline: z
    .boolean()
    .default(false)
    .describe(
      'people who may write to the bot can ask it from any chat, by its name and a question; needs `/setinline` and `/setinlinefeedback` at @BotFather',
    ),
  guests: z
    .boolean()
    .default(false)
    .describe(
      'the bot answers people who may write to it when they mention it in chats where it is no member; needs guest mode at @BotFather',
    ),
  business: z
    .boolean()
    .default(false)
    .describe(
      'the bot answers in the name of owners who have connected it to their account; needs Secretary Mode at @BotFather',
    ),
  miniApp: z
    .strictObject({
      url: z
        .url({ protocol: /^https$/, error: 'must be an https URL' })
        .describe(
          'public https address of the chat page; the button beside the message field of private chats then opens it inside Telegram, signed in',
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
      'in chats that have not chosen by `/rich`: answers with a table, a formula, tasks or details, and no block of code, are sent as one rich message where Telegram accepts it',
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
      private: z.int().min(0).max(100).default(1).describe('how many of the burst only final texts may use'),
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
      most: perSecond.default(60).describe('what it may rise to while calls wait and Telegram refuses none'),
    })
    .prefault({}),
});

/** The settings with what comes from the environment. */
export interface TelegramConfig extends Omit<z.output<typeof settings>, 'webhook'> {
  /** Secret. */
  token: string;
  /** Address of a self-hosted Bot API server; Telegram's by default. */
  apiRoot?: string | undefined;
  /** If set, Telegram posts updates, and the channel does not poll. */
  webhook?: WebhookConfig | undefined;
}
