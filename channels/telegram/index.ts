/** The Telegram channel: long polling in, messages that grow by edits out, over grammY's Bot API client. */
import type { Capabilities, Channel, ChannelDeps } from '../../src/contracts/channel.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { BotApi, CALL_TIMEOUT_MS } from './bot-api.ts';
import { POLL_TIMING, Poller } from './polling.ts';
import type { PollTiming } from './polling.ts';
import { renderTelegram } from './render.ts';

/** Settings of the channel, checked by its manifest. */
export interface TelegramConfig {
  /** Secret. */
  token: string;
  /** A Bot API server of one's own; Telegram's by default. */
  apiRoot?: string | undefined;
  /** Least milliseconds between two edits in one chat. */
  editIntervalMs: { private: number; group: number };
}

/** Longest message, in UTF-16 units after entity parsing (Bot API `sendMessage`). */
const MAX_LENGTH = 4_096;

/** One `sendChatAction` shows for this long. */
const TYPING_MS = 5_000;

/** The channel's waits, in milliseconds. */
export interface TelegramTiming extends PollTiming {
  callTimeoutMs: number;
}

const TIMING: TelegramTiming = { ...POLL_TIMING, callTimeoutMs: CALL_TIMEOUT_MS };

/** The channel's dependencies: a log, the commands it offers, and the report of groups that got a new id. */
export interface TelegramDeps extends Pick<ChannelDeps, 'log'> {
  gateway: Pick<GatewayApi, 'commands' | 'chatMoved'>;
}

/** Makes the channel; nothing is opened before `start`. Never throws. */
export function create(
  { token, apiRoot, editIntervalMs }: TelegramConfig,
  deps: TelegramDeps,
  waits: Partial<TelegramTiming> = {},
): Channel {
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
    send: (part) => bot.send(part),
    edit: (sent, part) => bot.edit(sent, part),
    render: renderTelegram,
    typing: (place) => bot.type(place),
    health: () => health,
  };
}
