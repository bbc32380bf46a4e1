/** What Discord can show, and how often it may be called. */
import type { Capabilities } from '../../src/contracts/channel.ts';
import type { Place } from '../../src/contracts/message.ts';
import type { PlaceRate } from '../../src/contracts/delivery.ts';
import type { Replies } from './replies.ts';
import { MAX_LENGTH } from './sending.ts';
import { MAX_UPLOAD_BYTES } from './files/uploads.ts';
import type { DiscordConfig } from './config.ts';

/** Typing shows for this long. */
const TYPING_MS = 10_000;
const WINDOW_MS = 5_000;

/** The abilities of the channel under these settings; `replies` knows the tokens of replies to commands. */
export function capabilitiesOf(config: DiscordConfig, replies: Pick<Replies, 'tokenOf'>): Capabilities {
  return {
    edit: true,
    delete: true,
    draft: undefined,
    stream: 'edit',
    typing: true,
    reactions: (['private', 'group'] as const).filter((kind) => config.reactions[kind]),
    buttons: true,
    answerButtons: config.answerButtons,
    media: true,
    maxFileBytes: MAX_UPLOAD_BYTES,
    maxCaption: MAX_LENGTH,
    threads: true,
    maxLength: MAX_LENGTH,
    rates: {
      callsPerSecond: config.callsPerSecond,
      of: (place, first) => rateOf(config, place, first && replies.tokenOf(first)),
    },
    typingMs: TYPING_MS,
  };
}

/** The rate limit of a channel or thread; the replies to a command have a separate one while its token lives. */
function rateOf(config: DiscordConfig, { chatId, threadId }: Place, token: string | undefined): PlaceRate {
  return {
    key: token === undefined ? (threadId ?? chatId) : `reply ${token}`,
    editIntervalMs: config.editIntervalMs,
    burst: config.burst,
    reserved: config.reservedForFinals,
    window: { calls: config.callsPer5Seconds, ms: WINDOW_MS },
    countsForBot: token === undefined,
  };
}
