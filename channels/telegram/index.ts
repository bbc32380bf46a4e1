/**
 * The Telegram channel: receives by long polling and sends messages that grow by edits, over grammY's Bot API client.
 */
import type { ChannelAccess } from '../../src/contracts/access.ts';
import type {
  Capabilities,
  Channel,
  ChannelDeps,
  OutboundPart,
  QuestionState,
} from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { PlaceRate, StreamMode } from '../../src/contracts/delivery.ts';
import type { Place, SentMessage } from '../../src/contracts/message.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { BotApi, CALL_TIMEOUT_MS, fileRootOf } from './api/bot-api.ts';
import type { Emoji } from './api/bot-api.ts';
import { FileDownload, SILENCE_MS } from './files/file-download.ts';
import { HiddenMessages, visible } from './hidden-messages.ts';
import { TelegramLostSends } from './api/lost-sends.ts';
import { Introduction } from './introduction.ts';
import { POLL_TIMING, Poller } from './receiving/polling.ts';
import { PolledUpdates, PostedUpdates } from './receiving/update-source.ts';
import { TelegramWebhook } from './receiving/webhook.ts';
import type { WebhookConfig } from './receiving/webhook.ts';
import type { PollTiming } from './receiving/polling.ts';
import { groupsThatNeedAll } from './privacy.ts';
import { said } from '../../src/contracts/texts/say.ts';
import { renderTelegram } from './rendering/render.ts';
import { Topics } from './topics.ts';
import { WholeAnswers } from './rich/whole-answers.ts';
import type { RichKind } from './rich/whole-answers.ts';
import { MAX_CAPTION, MAX_UPLOAD_BYTES } from './files/uploads.ts';

/** Settings of the channel, checked by its manifest. */
export interface TelegramConfig {
  /** Secret. */
  token: string;
  /** Address of a self-hosted Bot API server; Telegram's by default. */
  apiRoot?: string | undefined;
  /** If set, Telegram posts updates, and the channel does not poll. */
  webhook?: WebhookConfig | undefined;
  /** Minimum time between two edits in one chat, in milliseconds. */
  editIntervalMs: PerKind;
  /** Whether answers that benefit from it are sent as rich messages. */
  richMessages: 'auto' | 'off';
  /** How answers appear in chats that have not chosen a mode. */
  stream: StreamMode;
  /** Minimum time between two drafts in one chat, in milliseconds. */
  draftIntervalMs: number;
  /** Maximum burst of calls in a chat. */
  burst: PerKind;
  /** How many of these calls are reserved for finals. */
  reservedForFinals: PerKind;
  /** Where the bot reacts to questions. */
  reactions: { private: boolean; group: boolean };
  /** Maximum number of calls in one group in any minute. */
  groupCallsPerMinute: number;
  /** Calls per second of the whole bot: at first, and at most. */
  callsPerSecond: { start: number; usual: number; most: number };
}

/** A setting for private chats, and for groups and channels. */
interface PerKind {
  private: number;
  group: number;
}

const MINUTE_MS = 60_000;

/** Longest message, in UTF-16 units after entity parsing (Bot API `sendMessage`). */
const MAX_LENGTH = 4_096;

/** A draft disappears after this time (Bot API `sendMessageDraft`). */
const DRAFT_MS = 30_000;

/** One `sendChatAction` shows for this long. */
const TYPING_MS = 5_000;

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
  silenceMs: SILENCE_MS,
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
  const bot = new BotApi({ token, apiRoot, ...timing });
  const files = new FileDownload(bot, fileRootOf({ token, apiRoot }), timing.silenceMs);
  const { updates: store, log } = deps;
  const { webhook: config } = settings;
  const { clock } = timing;
  const posted = new PostedUpdates(store, token);
  const webhook = config && new TelegramWebhook({ token, bot, config, posted, log, clock });
  const { chatSettings } = deps;
  const whole = new WholeAnswers({ mode: settings.richMessages, maxLength: MAX_LENGTH, chatSettings, log });
  const introduction = new Introduction({ bot, ...deps, commands: deps.gateway.commands });
  const hidden = new HiddenMessages({ bot, chatSettings, log });
  const lostSends = new TelegramLostSends();
  const topics = new Topics({ bot, chatSettings, log });
  let unsubscribe = (): void => undefined;
  let health: ChannelHealth = { state: 'off' };
  let poller: Poller | undefined;
  let readsAll = true;
  const commandNames = new Set(['start', ...deps.gateway.commands.map(({ name }) => name)]);

  const capabilities: Capabilities = {
    edit: true,
    delete: true,
    draft: { everyMs: settings.draftIntervalMs, keepMs: DRAFT_MS, shownIn: (chatId) => !isGroup(chatId) },
    stream: settings.stream,
    typing: true,
    reactions: (['private', 'group'] as const).filter((kind) => settings.reactions[kind]),
    buttons: true,
    copyButtons: true,
    media: true,
    maxFileBytes: MAX_UPLOAD_BYTES,
    maxCaption: MAX_CAPTION,
    threads: true,
    maxLength: MAX_LENGTH,
    rates: { callsPerSecond: settings.callsPerSecond, of: ({ chatId }) => rateOf(chatId, settings) },
    typingMs: TYPING_MS,
  };

  /** Remembers where Telegram refuses rich messages. */
  async function noting<Result>(
    part: Place & Pick<OutboundPart, 'body'>,
    call: () => Promise<Result>,
    kind: RichKind = 'rich_messages',
  ): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      const isRefusal = error instanceof ChannelError && ['rejected', 'bad_markup'].includes(error.code);
      if (part.body.rich === true && isRefusal) await whole.noteRefusal(part, kind);
      throw error;
    }
  }

  /** Sends to everyone, and remembers which parts may be on screen without a known id. */
  async function sendNoting(part: OutboundPart): Promise<SentMessage> {
    const { chatId, nonce } = part;
    const after = lostSends.newest(chatId);
    try {
      const sent = await noting(part, () => bot.send(visible(part)));
      lostSends.note(chatId, sent.id);
      return sent;
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'outcome_unknown')
        lostSends.add(nonce, { chatId, after });
      throw error;
    }
  }

  async function stop(): Promise<void> {
    const ending = poller;
    poller = undefined;
    unsubscribe();
    await ending?.stop();
    if (!poller) health = { state: 'off' };
  }

  return {
    name: 'telegram',
    capabilities,
    webhook,
    identify: (signal) => bot.identify(signal),
    start: async (receive) => {
      await stop();
      health = { state: 'starting' };
      const starting = new Poller({
        bot,
        source: webhook?.source() ?? new PolledUpdates(bot, posted),
        receive: (message) => {
          if (message.messageId !== undefined) lostSends.note(message.chatId, message.messageId);
          return receive(message);
        },
        introduction,
        languages: deps.languages,
        commands: deps.gateway.commands,
        chatMoved: deps.gateway.chatMoved,
        membershipChanged: deps.gateway.membershipChanged,
        noteRefusal: deps.gateway.noteRefusal,
        noteTopic: (topic) => topics.note(topic),
        identified: (identity) => {
          readsAll = identity.readsAll === true;
          topics.areOn = identity.privateThreads === true;
        },
        log: deps.log,
        timing,
        setHealth: (next) => {
          if (poller === starting) health = next;
        },
      });
      poller = starting;
      unsubscribe = deps.gateway.subscribe({}, (event) => {
        if (event.type === 'session_titled' && event.title !== null)
          void topics.title(event.sessionKey, event.title);
      });
      starting.start();
    },
    stop,
    download: (media, signal) => files.open(media, signal),
    send: async (part) => (await hidden.send(part)) ?? (await sendNoting(part)),
    lostSends,
    sendFile: async (file) => {
      const sent = await bot.sendFile(file);
      lostSends.note(file.chatId, sent.id);
      return sent;
    },
    edit: async (sent, part) => {
      if (!(await hidden.edit(sent, part))) await noting(part, () => bot.edit(sent, part));
      return sent;
    },
    delete: async (sent, place) => {
      if (!(await hidden.delete(sent, place))) await bot.delete(sent, place);
    },
    renderWhole: (place, text) => whole.render(place, text),
    render: (doc) => renderTelegram(doc, commandNames),
    draft: (place, turnId, body, plain) =>
      noting({ ...place, body }, () => bot.draft(place, turnId, { body, plain }), 'rich_drafts'),
    typing: (place) => bot.type(place),
    react: ({ chatId, messageId }, state) => bot.react(chatId, messageId, SIGNS[state]),
    openThread: (chat, name) => topics.open(chat, name),
    isAdmin: ({ chatId }, senderId) => bot.isAdmin(chatId, senderId),
    health: () => ({ ...health, ...(!readsAll && noticeOf(deps.access())) }),
  };
}

/** The reactions that show the state of a question. */
const SIGNS: Record<QuestionState, Emoji | undefined> = {
  waiting: '👀',
  working: '✍',
  done: '👌',
  failed: '😢',
  none: undefined,
};

/** Reported while privacy mode hides messages from the bot that the group settings require. */
function noticeOf(access: ChannelAccess | undefined): Pick<ChannelHealth, 'notice'> {
  const needing = groupsThatNeedAll(access);
  if (needing.length === 0) return {};
  return {
    notice: said('privacy.on', { network: 'Telegram', count: needing.length }),
  };
}

/** Groups and channels have negative ids. */
function isGroup(chatId: string): boolean {
  return chatId.startsWith('-');
}

/** The rate limit of one chat, shared by all its topics. */
function rateOf(chatId: string, settings: Omit<TelegramConfig, 'token' | 'apiRoot'>): PlaceRate {
  const kind = isGroup(chatId) ? 'group' : 'private';
  return {
    key: chatId,
    editIntervalMs: settings.editIntervalMs[kind],
    burst: settings.burst[kind],
    reserved: settings.reservedForFinals[kind],
    ...(kind === 'group' ? { window: { calls: settings.groupCallsPerMinute, ms: MINUTE_MS } } : {}),
    countsForBot: true,
  };
}
