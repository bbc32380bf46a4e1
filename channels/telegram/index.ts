/** The Telegram channel: long polling in, messages that grow by edits out, over grammY's Bot API client. */
import { z } from 'zod';
import type { Capabilities, Channel, ChannelDeps, OutboundPart } from '../../src/contracts/channel.ts';
import { ConfigError } from '../../src/contracts/errors.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import type { Place } from '../../src/contracts/message.ts';
import { BotApi, CALL_TIMEOUT_MS } from './bot-api.ts';
import type { OutgoingText } from './bot-api.ts';
import { GENERAL_TOPIC } from './inbound.ts';
import { POLL_TIMING, Poller } from './polling.ts';
import type { PollTiming } from './polling.ts';
import { renderTelegram } from './render.ts';

/** Settings of the channel. The token's value is a secret; `apiRoot` is for a Bot API server of one's own. */
export const configSchema = z.strictObject({
  token: z
    .string()
    .regex(/^\d+:.+$/, 'TELEGRAM_BOT_TOKEN must look like 123456:ABC…, as @BotFather shows it.'),
  apiRoot: z
    .url({ protocol: /^https?$/, error: 'TELEGRAM_API_ROOT must be an http or https address.' })
    .optional(),
  /** Least milliseconds between edits in one chat: about one a second in private, twenty a minute in groups. */
  editIntervalMs: z
    .strictObject({ private: z.int().min(1), group: z.int().min(1) })
    .default({ private: 1_100, group: 3_100 }),
});

export type TelegramConfig = z.input<typeof configSchema>;

/** Longest message, in UTF-16 units after entity parsing (Bot API `sendMessage`). */
const MAX_LENGTH = 4_096;

/** One `sendChatAction` shows for this long. */
const TYPING_MS = 5_000;

/** The channel's waits, in milliseconds. */
export interface TelegramTiming extends PollTiming {
  callTimeoutMs: number;
}

const TIMING: TelegramTiming = { ...POLL_TIMING, callTimeoutMs: CALL_TIMEOUT_MS };

/** What the channel asks of the house: a log, the commands it offers, and to hear of groups with a new id. */
export interface TelegramDeps extends Pick<ChannelDeps, 'log'> {
  gateway: Pick<GatewayApi, 'commands' | 'chatMoved'>;
}

/** Makes the channel; nothing is opened before `start`. Throws `ConfigError` naming every fault of the settings. */
export function create(
  config: TelegramConfig,
  deps: TelegramDeps,
  waits: Partial<TelegramTiming> = {},
): Channel {
  const { token, apiRoot, editIntervalMs } = readConfig(config);
  const timing = { ...TIMING, ...waits };
  const bot = new BotApi({ token, apiRoot, callTimeoutMs: timing.callTimeoutMs });
  let health: ChannelHealth = { state: 'off' };
  let poller: Poller | undefined;

  const capabilities: Capabilities = {
    edit: true,
    draft: false,
    typing: true,
    reactions: false,
    buttons: true,
    media: false,
    threads: true,
    maxLength: MAX_LENGTH,
    // Groups and channels have ids below zero.
    editIntervalMs: (chatId) => (chatId.startsWith('-') ? editIntervalMs.group : editIntervalMs.private),
    typingMs: TYPING_MS,
  };

  async function stop(): Promise<void> {
    const ending = poller;
    poller = undefined;
    await ending?.stop();
    if (!poller) health = { state: 'off' };
  }

  return {
    name: 'telegram',
    capabilities,
    identify: (signal) => bot.identify(signal),
    start: async (receive) => {
      await stop();
      health = { state: 'starting' };
      const starting = new Poller({
        bot,
        receive,
        commands: deps.gateway.commands,
        chatMoved: deps.gateway.chatMoved,
        log: deps.log,
        timing,
        setHealth: (next) => {
          if (poller === starting) health = next;
        },
      });
      poller = starting;
      starting.start();
    },
    stop,
    send: async (part) => ({ id: await bot.send(outgoing(part)) }),
    edit: async (sent, part) => {
      await bot.edit(Number(sent.id), outgoing(part));
    },
    render: renderTelegram,
    typing: async (place: Place) => {
      await bot.type(place.chatId, place.threadId === undefined ? undefined : Number(place.threadId));
    },
    health: () => health,
  };
}

function readConfig(config: TelegramConfig): z.output<typeof configSchema> {
  const parsed = configSchema.safeParse(config);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError('bad_telegram_config', `The Telegram channel cannot start. ${faults.join(' ')}`);
}

/** The General topic must not be named when sending; Telegram would not find it. */
function outgoing(part: OutboundPart): OutgoingText {
  const inTopic = part.threadId !== undefined && part.threadId !== GENERAL_TOPIC;
  return {
    chatId: part.chatId,
    text: part.plain === true ? part.body.plain : part.body.text,
    html: part.plain !== true,
    threadId: inTopic ? Number(part.threadId) : undefined,
    replyTo: part.replyTo === undefined ? undefined : Number(part.replyTo),
    buttons: part.buttons,
  };
}
