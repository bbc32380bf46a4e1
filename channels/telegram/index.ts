/** The Telegram channel: long polling or a webhook, and messages that grow by edits, over grammY's Bot API client. */
import type { Channel, ChannelDeps, QuestionState } from '../../src/protocol/channel.ts';
import type { AskedQuestion } from '../../src/protocol/delivery.ts';
import type { Place } from '../../src/protocol/message.ts';
import { CHANNEL_TIMING } from '../../src/protocol/channel-settings.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { BotApi, CALL_TIMEOUT_MS, type Emoji } from './bot-api.ts';
import { BusinessChats } from './business.ts';
import { topicOf } from './call-options.ts';
import { capabilitiesOf } from './capabilities.ts';
import type { TelegramConfig } from './config.ts';
import { openFile } from './download.ts';
import { ElsewhereMessages, isElsewhere } from './elsewhere.ts';
import { HiddenMessages } from './hidden-messages.ts';
import { Introduction } from './introduction.ts';
import { readInitData, TELEGRAM_WEB } from './mini-app.ts';
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
  const { token, miniApp } = config;
  const bot = new BotApi({ ...timing, ...config });
  const posted = new PostedUpdates(updates, token);
  const webhook =
    config.webhook && new TelegramWebhook(token, config.webhook, bot, posted, log, timing.clock);
  const kinds = kindsOf(bot, config, deps, timing.clock);
  const { whole, lostSends, elsewhere, business } = kinds;
  const sending = new Sending(bot, kinds);
  const topics = new Topics(bot, chatSettings, log);
  const introduction = new Introduction(bot, deps, miniApp?.url);
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
      const parts = {
        ...deps,
        bot,
        source,
        introduction,
        topics,
        elsewhere,
        business,
        lostSends,
        timing,
        receive,
      };
      receiving = new Receiving(parts);
      receiving.start();
    },
    stop: async () => await receiving?.stop(),
    send: (part) => sending.send(part),
    sendFile: (file) => sending.sendFile(file),
    edit: (message, part) => sending.edit(message, part),
    delete: (message, place) => sending.delete(message, place),
    draft: (...draft) => sending.draft(...draft),
    download: (media, signal) => openFile(bot, media, timing.silenceMs, signal),
    lostSends,
    renderWhole: async (place, text) => (isElsewhere(place) ? undefined : await whole.render(place, text)),
    render: (doc) => renderTelegram(doc, commandNames),
    typing: (place) => showTyping(bot, business, place),
    react: (question, state) => showState(bot, question, state),
    openThread: (chat, name) => topics.open(chat, name),
    isAdmin: ({ chatId }, senderId) => bot.isAdmin(chatId, senderId),
    ...(miniApp && { readSignIn: readInitData(token, timing.epochNow), framedBy: TELEGRAM_WEB }),
    health: () => receiving?.health ?? { state: 'off' },
  };
}

/** The kinds of messages that are sent in their own ways. */
function kindsOf(
  bot: BotApi,
  config: TelegramConfig,
  deps: ChannelDeps,
  clock: Clock,
): ConstructorParameters<typeof Sending>[1] {
  const { chatSettings, log } = deps;
  return {
    hiddenMessages: new HiddenMessages(bot, chatSettings, log),
    elsewhere: new ElsewhereMessages(bot),
    business: new BusinessChats(bot, deps, () => clock.monotonicMs()),
    whole: new WholeAnswers(config.richMessages, chatSettings, log),
    lostSends: new TelegramLostSends(),
  };
}

/** In chats of others, the bot cannot react. */
async function showState(bot: BotApi, question: AskedQuestion, state: QuestionState): Promise<void> {
  if (!isElsewhere(question)) await bot.react(question.chatId, question.messageId, REACTIONS[state]);
}

/** Telegram shows it to whoever reads the answer, but not where the bot is no member. */
async function showTyping(bot: BotApi, business: BusinessChats, place: Place): Promise<void> {
  const ownersChat = await business.targetOf(place);
  if (ownersChat !== undefined) await bot.type(ownersChat.chat_id, ownersChat);
  else if (!isElsewhere(place)) await bot.type(place.chatId, topicOf(place.threadId));
}

/** The reactions that show the state of a question. */
const REACTIONS: Record<QuestionState, Emoji | undefined> = {
  waiting: '👀',
  working: '✍',
  done: '👌',
  failed: '😢',
  none: undefined,
};
