/**
 * The Telegram channel: receives by long polling and sends messages that grow by edits, over grammY's Bot API client.
 */
import type { Channel, ChannelDeps, QuestionState } from '../../src/protocol/channel.ts';
import { CHANNEL_TIMING } from '../../src/protocol/channel-settings.ts';
import type { GatewayApi } from '../../src/protocol/gateway-api.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { BotApi, CALL_TIMEOUT_MS, type Emoji, fileRootOf } from './api/bot-api.ts';
import { FileDownload } from './files/file-download.ts';
import { HiddenMessages } from './hidden-messages.ts';
import { TelegramLostSends } from './api/lost-sends.ts';
import { capabilitiesOf } from './capabilities.ts';
import type { TelegramConfig } from './config.ts';
import { Introduction } from './introduction.ts';
import { POLL_TIMING, type PollTiming } from './receiving/polling.ts';
import { PolledUpdates, PostedUpdates } from './receiving/update-source.ts';
import { TelegramWebhook } from './receiving/webhook.ts';
import { MAX_LENGTH, renderTelegram } from './rendering/render.ts';
import { Receiving } from './receiving/receiving.ts';
import { createSending } from './sending.ts';
import { Topics } from './topics.ts';
import { WholeAnswers } from './rich/whole-answers.ts';

/** The channel's waits, in milliseconds, and the clock that ends calls that get no answer. */
export interface TelegramTiming extends PollTiming {
  callTimeoutMs: number;
  /** A download that delivers nothing for this long is aborted. */
  silenceMs: number;
  clock: Clock;
}

const TIMING: TelegramTiming = {
  ...POLL_TIMING,
  callTimeoutMs: CALL_TIMEOUT_MS,
  silenceMs: CHANNEL_TIMING.silenceMs,
  clock: systemClock,
};

/** The channel's dependencies: a log, its access rules, the commands it offers, and where it reports chat events. */
export interface TelegramDeps extends Omit<ChannelDeps, 'gateway' | 'connections'> {
  gateway: Pick<GatewayApi, 'commands' | 'chatMoved' | 'membershipChanged' | 'noteRefusal' | 'subscribe'>;
}

/** Creates the channel; opens nothing before `start`. Never throws. */
export function create(
  { token, apiRoot, ...settings }: TelegramConfig,
  deps: TelegramDeps,
  waits: Partial<TelegramTiming> = {},
): Channel {
  const timing = { ...TIMING, ...waits };
  const { updates: store, log, chatSettings, gateway } = deps;
  const bot = new BotApi({ token, apiRoot, ...timing });
  const files = new FileDownload(bot, fileRootOf({ token, apiRoot }), timing.silenceMs);
  const posted = new PostedUpdates(store, token);
  const { webhook: config } = settings;
  const webhook = config && new TelegramWebhook({ token, bot, config, posted, log, clock: timing.clock });
  const whole = new WholeAnswers({ mode: settings.richMessages, maxLength: MAX_LENGTH, chatSettings, log });
  const hidden = new HiddenMessages({ bot, chatSettings, log });
  const lostSends = new TelegramLostSends();
  const topics = new Topics({ bot, chatSettings, log });
  const receiving = new Receiving({
    ...deps,
    bot,
    introduction: new Introduction({ bot, ...deps, commands: gateway.commands }),
    makeSource: () => webhook?.source() ?? new PolledUpdates(bot, posted),
    lostSends,
    topics,
    timing,
  });
  const commandNames = new Set(['start', ...gateway.commands.map(({ name }) => name)]);
  return {
    ...createSending({ bot, hidden, whole, lostSends }),
    name: 'telegram',
    capabilities: capabilitiesOf(settings),
    webhook,
    identify: (signal) => bot.identify(signal),
    start: (receive) => receiving.start(receive),
    stop: () => receiving.stop(),
    download: (media, signal) => files.open(media, signal),
    lostSends,
    renderWhole: (place, text) => whole.render(place, text),
    render: (doc) => renderTelegram(doc, commandNames),
    typing: (place) => bot.type(place),
    react: ({ chatId, messageId }, state) => bot.react(chatId, messageId, REACTIONS[state]),
    openThread: (chat, name) => topics.open(chat, name),
    isAdmin: ({ chatId }, senderId) => bot.isAdmin(chatId, senderId),
    health: () => receiving.health,
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
