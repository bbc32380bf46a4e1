/** What Discord can show, and how often it may be called. */
import type { Capabilities } from '../../src/protocol/channel.ts';
import { usualCapabilities } from '../../src/protocol/channel-settings.ts';
import type { Place } from '../../src/protocol/message.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import type { Replies } from './replies.ts';
import { MAX_LENGTH } from './sending.ts';
import { MAX_UPLOAD_BYTES } from './files/uploads.ts';
import type { DiscordConfig } from './config.ts';

/** Typing shows for this long. */
const TYPING_MS = 10_000;
const WINDOW_MS = 5_000;

/** The abilities of the channel under these settings; `replies` knows the tokens of replies to commands. */
export function capabilitiesOf(config: DiscordConfig, replies: Pick<Replies, 'tokenOf'>): Capabilities {
  return usualCapabilities({
    reactsIn: config.reactions,
    answerButtons: config.answerButtons,
    maxFileBytes: MAX_UPLOAD_BYTES,
    maxLength: MAX_LENGTH,
    rates: {
      callsPerSecond: config.callsPerSecond,
      of: (place, first) => rateOf(config, place, first && replies.tokenOf(first)),
    },
    typingMs: TYPING_MS,
  });
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
