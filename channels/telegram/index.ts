/** The Telegram channel: long polling or a webhook, and messages that grow by edits, over grammY's Bot API client. */
import type { Channel, ChannelDeps, QuestionState } from '../../src/protocol/channel.ts';
import { CHANNEL_TIMING } from '../../src/protocol/channel-settings.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { BotApi, CALL_TIMEOUT_MS, type Emoji } from './bot-api.ts';
import { capabilitiesOf } from './capabilities.ts';
import type { TelegramConfig } from './config.ts';
import { openFile } from './download.ts';
import { ElsewhereMessages, isElsewhere } from './elsewhere.ts';
import { HiddenMessages } from './hidden-messages.ts';
import { Introduction } from './introduction.ts';
import { readInitData } from './mini-app.ts';
import { POLL_TIMING, type PollTiming, Receiving } from './receiving/receiving.ts';
import { PolledUpdates, PostedUpdates, TelegramWebhook } from './receiving/update-sources.ts';
import { renderTelegram } from './render.ts';
import { WholeAnswers } from './rich-message.ts';
import { Sending, TelegramLostSends } from './sending.ts';
import { Topics } from './topics.ts';

/** The channel's waits, in milliseconds, and the clock that ends calls that get no answer. */
export interface TelegramTiming extends PollTiming {
  callTimeoutMs: number;
  /** A download that delivers nothing for this long is aborted. */
  silenceMs: number;
  clock: Clock;
  epochNow: () => number;
}

const TIMING: TelegramTiming = {
  ...POLL_TIMING,
  callTimeoutMs: CALL_TIMEOUT_MS,
  silenceMs: CHANNEL_TIMING.silenceMs,
  clock: systemClock,
  epochNow: Date.now,
};

/** Creates the channel; opens nothing before `start`. Never throws. */
export function create(
  config: TelegramConfig,
  deps: ChannelDeps,
  waits: Partial<TelegramTiming> = {},
): Channel {
  const timing = { ...TIMING, ...waits };
  const { updates, log, chatSettings, gateway } = deps;
  const { token, apiRoot } = config;
  const bot = new BotApi({ token, apiRoot, ...timing, inline: config.inline, guests: config.guests });
  const posted = new PostedUpdates(updates, token);
  const webhook =
    config.webhook && new TelegramWebhook(token, config.webhook, bot, posted, log, timing.clock);
  const whole = new WholeAnswers(config.richMessages, chatSettings, log);
  const lostSends = new TelegramLostSends();
  const hiddenMessages = new HiddenMessages(bot, chatSettings, log);
  const elsewhere = new ElsewhereMessages(bot);
  const sending = new Sending(bot, { hiddenMessages, elsewhere, whole, lostSends });
  const topics = new Topics(bot, chatSettings, log);
  const introduction = new Introduction(bot, deps, config.miniApp?.url);
  const commandNames = new Set(['start', ...gateway.commands.map(({ name }) => name)]);
  let receiving: Receiving | undefined;
  return {
    name: 'telegram',
    capabilities: capabilitiesOf(config),
    webhook,
    identify: (signal) => bot.identify(signal),
    start: async (receive) => {
      await receiving?.stop();
      const source = webhook?.source() ?? new PolledUpdates(bot, posted);
      const parts = { ...deps, bot, source, introduction, topics, elsewhere, lostSends, timing, receive };
      receiving = new Receiving(parts);
      receiving.start();
    },
    stop: async () => await receiving?.stop(),
    send: (part) => sending.send(part),
    sendFile: (file) => sending.sendFile(file),
    edit: (message, part) => sending.edit(message, part),
    delete: (message, place) => sending.delete(message, place),
    draft: (place, turnId, body, plain) => sending.draft(place, turnId, body, plain),
    download: (media, signal) => openFile(bot, media, timing.silenceMs, signal),
    lostSends,
    renderWhole: async (place, text) => (isElsewhere(place) ? undefined : await whole.render(place, text)),
    render: (doc) => renderTelegram(doc, commandNames),
    typing: async (place) => (isElsewhere(place) ? undefined : await bot.type(place)),
    react: ({ chatId, messageId }, state) => bot.react(chatId, messageId, REACTIONS[state]),
    openThread: (chat, name) => topics.open(chat, name),
    isAdmin: ({ chatId }, senderId) => bot.isAdmin(chatId, senderId),
    readSignIn: config.miniApp && readInitData(token, timing.epochNow),
    health: () => receiving?.health ?? { state: 'off' },
  };
}

/** The reactions that show the state of a question. */
const REACTIONS: Record<QuestionState, Emoji | undefined> = {
  waiting: '👀',
  working: '✍',
  done: '👌',
  failed: '😢',
  none: undefined,
};
