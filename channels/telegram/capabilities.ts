/** What Telegram can show, and how often it may be called. */
import type { Capabilities } from '../../src/protocol/channel.ts';
import { usualCapabilities } from '../../src/protocol/channel-settings.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import { addressOf, type Place } from '../../src/protocol/message.ts';
import { isBusiness } from './business.ts';
import type { TelegramConfig } from './config.ts';
import { MAX_CAPTION, MAX_UPLOAD_BYTES } from './call-options.ts';
import { MAX_LENGTH } from './render.ts';

const MINUTE_MS = 60_000;
/** A draft disappears after this time (Bot API `sendMessageDraft`). */
const DRAFT_MS = 30_000;
/** Reactions make at most this share of a group's calls. */
const REACTION_SHARE = 0.25;
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
    rates: {
      callsPerSecond: settings.callsPerSecond,
      of: (place) => rateOf(place, settings),
      ofReactions: (place) => reactionRateOf(place, settings),
    },
    typingMs: TYPING_MS,
    wholeOnly: isBusiness,
  });
}

/** Groups and channels have negative ids. */
function isGroup(chatId: string): boolean {
  return chatId.startsWith('-');
}

/** A refused reaction delays no text. Telegram does not say whether it counts them with texts, so they use few of a group's calls. */
function reactionRateOf(place: Place, settings: TelegramConfig): PlaceRate {
  const rate = rateOf(place, settings);
  const { window } = rate;
  const calls = window === undefined ? 0 : Math.ceil(window.calls * REACTION_SHARE);
  return { ...rate, key: `reactions ${place.chatId}`, reserved: 0, window: window && { ...window, calls } };
}

/** The rate limit of one chat, shared by all its topics; chats of an owner's account are chats of their own. */
function rateOf(place: Place, settings: TelegramConfig): PlaceRate {
  const { chatId } = place;
  const kind = isGroup(chatId) ? 'group' : 'private';
  return {
    key: isBusiness(place) ? addressOf(place) : chatId,
    editIntervalMs: settings.editIntervalMs[kind],
    burst: settings.burst[kind],
    reserved: settings.reservedForFinals[kind],
    window: kind === 'group' ? { calls: settings.groupCallsPerMinute, ms: MINUTE_MS } : undefined,
    countsForBot: true,
  };
}
