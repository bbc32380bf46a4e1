/** The Discord channel: messages arrive over Discord's gateway, and are sent and edited over REST. */
import { z } from 'zod';
import type {
  Capabilities,
  Channel,
  ChannelIdentity,
  OutboundFile,
  OutboundPart,
} from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import type { Place, SentMessage } from '../../src/contracts/message.ts';
import type { PlaceRate } from '../../src/contracts/delivery.ts';
import type { Receive } from '../../src/contracts/receive.ts';
import { FileDownload, SILENCE_MS } from './file-download.ts';
import { Interactions } from './interactions.ts';
import { IdentifyBudget } from './gateway/identify-budget.ts';
import { Receiving } from './receiving.ts';
import type { DiscordDeps, ReceivingParts, ReceivingSettings } from './receiving.ts';
import { render } from './render.ts';
import { isReply, Replies } from './replies.ts';
import { DiscordRest } from './rest.ts';
import { channelIdOf, contentOf, MAX_LENGTH, Sending, unlessGone } from './sending.ts';
import { Signs } from './signs.ts';
import { fileRefusal, formsOf, MAX_UPLOAD_BYTES } from './files/uploads.ts';
import { pause } from '../../src/lib/sleep.ts';
import { stripEnd } from '../../src/lib/text.ts';

const TYPING_MS = 10_000;

/** Discord's own API, without a version. */
const OFFICIAL_ROOT = 'https://discord.com/api';

/** Settings of the channel, checked by its manifest. */
export interface DiscordConfig {
  /** Secret. */
  token: string;
  /** Another server that speaks Discord's API, without a version; Discord's own by default. */
  apiRoot?: string | undefined;
  /** Least milliseconds between two edits in one channel or thread. */
  editIntervalMs: number;
  /** Calls that may go out at once there. */
  burst: number;
  /** Calls there in any five seconds. */
  callsPer5Seconds: number;
  /** How many of both only finals may use. */
  reservedForFinals: number;
  /** Calls a second of the whole bot: at first, and at most. */
  callsPerSecond: { start: number; most: number };
}

const WINDOW_MS = 5_000;

/** The channel's clock and waits, in milliseconds. */
export interface DiscordTiming {
  now: () => number;
  /** Waits that many milliseconds, or until the signal aborts. Never rejects. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Between two identifies. Discord takes one per 5 seconds. */
  identifySpacingMs: number;
  /** Before the first new attempt after a failed connection. */
  retryBaseMs: number;
  /** Between two writes of how far the events of the gateway are stored. */
  saveEveryMs: number;
  /** Between two calls that read missed messages. */
  historySpacingMs: number;
  /** Longest wait for the gateway connection to close at a stop. */
  closeMs: number;
  /** A download that brings nothing for this long is given up. */
  silenceMs: number;
  /** How long a commit may take before a slash command is deferred without it; Discord waits 3 seconds. */
  deferAfterMs: number;
}

const TIMING: DiscordTiming = {
  now: Date.now,
  pause,
  identifySpacingMs: 5_100,
  retryBaseMs: 1_000,
  saveEveryMs: 2_000,
  historySpacingMs: 100,
  closeMs: 2_000,
  silenceMs: SILENCE_MS,
  deferAfterMs: 1_500,
};

/** Makes the channel; nothing is connected before `start`. Never throws. */
export function create(
  config: DiscordConfig,
  deps: DiscordDeps,
  timing: Partial<DiscordTiming> = {},
): Channel {
  return new DiscordChannel(config, deps, { ...TIMING, ...timing });
}

const Self = z.object({ id: z.string(), username: z.string() });

class DiscordChannel implements Channel {
  readonly name = 'discord';
  readonly capabilities: Capabilities;
  readonly render = render;
  readonly #settings: ReceivingSettings;
  readonly #parts: Omit<ReceivingParts, 'receive'>;
  readonly #sending: Sending;
  readonly #replies: Replies;
  readonly download: NonNullable<Channel['download']>;
  #receiving: Receiving | undefined;
  #botId: string | undefined;

  constructor(config: DiscordConfig, deps: DiscordDeps, timing: DiscordTiming) {
    const { token } = config;
    const apiRoot = stripEnd(config.apiRoot ?? OFFICIAL_ROOT, '/');
    const rest = new DiscordRest({ token, apiRoot, now: timing.now });
    const signs = new Signs(rest, deps.log);
    this.#sending = new Sending(rest, (channelId) => void signs.show(channelId));
    this.#replies = new Replies({ rest, sending: this.#sending, now: timing.now });
    const interactions = new Interactions({ ...timing, rest, replies: this.#replies, log: deps.log });
    const files = new FileDownload({ rest, apiRoot: config.apiRoot, silenceMs: timing.silenceMs });
    this.download = async (media, signal) => await files.open(media, signal);
    this.#parts = { ...deps, rest, sending: this.#sending, interactions, signs, files };
    const { connections } = deps;
    const budget = new IdentifyBudget({ connections, now: timing.now, spacingMs: timing.identifySpacingMs });
    const botId = async (signal: AbortSignal) => this.#botId ?? (await this.identify(signal)).id;
    this.#settings = { ...timing, token, budget, botId };
    this.capabilities = {
      edit: true,
      delete: true,
      draft: false,
      typing: true,
      reactions: [],
      buttons: true,
      media: true,
      maxFileBytes: MAX_UPLOAD_BYTES,
      maxCaption: MAX_LENGTH,
      threads: true,
      maxLength: MAX_LENGTH,
      rates: {
        callsPerSecond: config.callsPerSecond,
        of: (place, first) => rateOf(config, place, first && this.#replies.tokenOf(first)),
      },
      typingMs: TYPING_MS,
    };
  }

  async identify(signal: AbortSignal): Promise<ChannelIdentity> {
    const answer = await this.#parts.rest.call({ method: 'get', path: '/users/@me', bucket: 'me', signal });
    const self = Self.safeParse(answer);
    if (self.success) {
      this.#botId = self.data.id;
      return { id: self.data.id, name: self.data.username };
    }
    throw new ChannelError(
      'unavailable',
      'Discord did not tell who the bot token belongs to; asking again later.',
      { retryable: true },
    );
  }

  async start(receive: Receive): Promise<void> {
    await this.#receiving?.stop();
    this.#receiving = new Receiving(this.#settings, { ...this.#parts, receive });
    await this.#receiving.start();
  }

  async stop(): Promise<void> {
    await this.#receiving?.stop();
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const content = contentOf(part);
    const later = part.after && (await this.#replies.followUp(part.after, content));
    return later ?? { id: await this.#sending.create(part, content, part) };
  }

  async sendFile(file: OutboundFile): Promise<SentMessage> {
    let refusal = new ChannelError('rejected', `Discord takes the file ${file.name} in no form.`);
    for (const { content, files } of await formsOf(file)) {
      try {
        const later = file.after && (await this.#replies.followUp(file.after, content, files));
        return later ?? { id: await this.#sending.create(file, content, file, files) };
      } catch (error) {
        refusal = fileRefusal(error);
      }
    }
    throw refusal;
  }

  async edit(sent: SentMessage, part: OutboundPart): Promise<SentMessage> {
    const channelId = channelIdOf(part);
    if (isReply(sent)) return await this.#replies.edit(sent, channelId, contentOf(part));
    await this.#sending.edit(sent.id, channelId, contentOf(part));
    return sent;
  }

  async delete(sent: SentMessage, place: Place): Promise<void> {
    const channelId = channelIdOf(place);
    if (isReply(sent)) await unlessGone(this.#replies.delete(sent, channelId));
    else await this.#sending.delete(sent.id, channelId);
  }

  async typing(place: Place): Promise<void> {
    await this.#sending.typing(place);
  }

  health(): ChannelHealth {
    const receiving = this.#receiving?.health ?? { state: 'off' };
    return receiving.state === 'dead' ? receiving : (this.#parts.rest.health ?? receiving);
  }
}

/** The limit of a channel or thread; the replies to a command, while its token lives, have one of their own. */
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
