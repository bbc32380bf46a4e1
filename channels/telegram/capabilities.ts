/** What Telegram can show, and how often it may be called. */
import type { Capabilities } from '../../src/protocol/channel.ts';
import { type ReactionSettings, usualCapabilities } from '../../src/protocol/channel-settings.ts';
import type { PlaceRate, StreamMode } from '../../src/protocol/delivery.ts';
import type { WebhookConfig } from './receiving/update-sources.ts';
import { MAX_CAPTION, MAX_UPLOAD_BYTES } from './call-options.ts';
import { MAX_LENGTH } from './render.ts';

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
  reactions: ReactionSettings;
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
/** A draft disappears after this time (Bot API `sendMessageDraft`). */
const DRAFT_MS = 30_000;
/** One `sendChatAction` shows for this long. */
const TYPING_MS = 5_000;

/** The abilities of the channel under these settings. */
export function capabilitiesOf(settings: TelegramConfig): Capabilities {
  return usualCapabilities({
    draft: { everyMs: settings.draftIntervalMs, keepMs: DRAFT_MS, shownIn: (chatId) => !isGroup(chatId) },
    stream: settings.stream,
    reactsIn: settings.reactions,
    copyButtons: true,
    maxFileBytes: MAX_UPLOAD_BYTES,
    maxCaption: MAX_CAPTION,
    maxLength: MAX_LENGTH,
    rates: { callsPerSecond: settings.callsPerSecond, of: ({ chatId }) => rateOf(chatId, settings) },
    typingMs: TYPING_MS,
  });
}

/** Groups and channels have negative ids. */
function isGroup(chatId: string): boolean {
  return chatId.startsWith('-');
}

/** The rate limit of one chat, shared by all its topics. */
function rateOf(chatId: string, settings: TelegramConfig): PlaceRate {
  const kind = isGroup(chatId) ? 'group' : 'private';
  return {
    key: chatId,
    editIntervalMs: settings.editIntervalMs[kind],
    burst: settings.burst[kind],
    reserved: settings.reservedForFinals[kind],
    window: kind === 'group' ? { calls: settings.groupCallsPerMinute, ms: MINUTE_MS } : undefined,
    countsForBot: true,
  };
}
