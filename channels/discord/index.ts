/** The Discord channel: messages arrive over Discord's gateway, and are sent and edited over REST. */
import { z } from 'zod';
import type { Capabilities, Channel, ChannelIdentity, OutboundPart } from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import type { Place, SentMessage } from '../../src/contracts/message.ts';
import type { Receive } from '../../src/contracts/receive.ts';
import { Interactions, isDeferredReply } from './interactions.ts';
import type { GatewaySettings } from './gateway.ts';
import { Receiving } from './receiving.ts';
import type { DiscordDeps, ReceivingParts } from './receiving.ts';
import { render } from './render.ts';
import { DiscordRest } from './rest.ts';
import { IdentifyThrottle } from './strategy.ts';
import { channelIdOf, contentOf, MAX_LENGTH, Sending } from './sending.ts';

const TYPING_MS = 10_000;

/** Discord's own API, without a version. */
const OFFICIAL_ROOT = 'https://discord.com/api';

/** Settings of the channel, checked by its manifest. */
export interface DiscordConfig {
  /** Secret. */
  token: string;
  /** Another server that speaks Discord's API, without a version; Discord's own by default. */
  apiRoot?: string | undefined;
  /** Least milliseconds between two edits in one channel. */
  editIntervalMs: number;
}

/** The channel's clock and waits, in milliseconds. */
export interface DiscordTiming {
  now: () => number;
  /** Between two identifies. Discord takes one per 5 seconds. */
  identifySpacingMs: number;
  /** Before the first new attempt after a failed connection. */
  retryBaseMs: number;
  /** Longest wait for the gateway connection to close at a stop. */
  closeMs: number;
  /** How long a commit may take before a slash command is deferred without it; Discord waits 3 seconds. */
  deferAfterMs: number;
}

const TIMING: DiscordTiming = {
  now: Date.now,
  identifySpacingMs: 5_100,
  retryBaseMs: 1_000,
  closeMs: 2_000,
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
  readonly #settings: Omit<GatewaySettings, 'log'>;
  readonly #parts: Omit<ReceivingParts, 'receive'>;
  readonly #sending: Sending;
  readonly #interactions: Interactions;
  #receiving: Receiving | undefined;

  constructor(config: DiscordConfig, deps: DiscordDeps, timing: DiscordTiming) {
    const { token, editIntervalMs } = config;
    const apiRoot = (config.apiRoot ?? OFFICIAL_ROOT).replace(/\/+$/, '');
    const rest = new DiscordRest({ token, apiRoot, now: timing.now });
    this.#sending = new Sending(rest);
    this.#interactions = new Interactions({ ...timing, rest, sending: this.#sending, log: deps.log });
    this.#parts = { ...deps, rest, sending: this.#sending, interactions: this.#interactions };
    const throttle = new IdentifyThrottle(timing.identifySpacingMs);
    const { retryBaseMs, closeMs } = timing;
    this.#settings = { token, apiRoot, throttle, retryBaseMs, closeMs };
    this.capabilities = {
      edit: true,
      draft: false,
      typing: true,
      reactions: false,
      buttons: true,
      media: false,
      threads: true,
      maxLength: MAX_LENGTH,
      editIntervalMs: () => editIntervalMs,
      typingMs: TYPING_MS,
    };
  }

  async identify(signal: AbortSignal): Promise<ChannelIdentity> {
    const answer = await this.#parts.rest.call({ method: 'get', path: '/users/@me', bucket: 'me', signal });
    const self = Self.safeParse(answer);
    if (self.success) return { id: self.data.id, name: self.data.username };
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
    return { id: await this.#sending.create(part, contentOf(part), part.nonce, part.replyTo) };
  }

  async edit(sent: SentMessage, part: OutboundPart): Promise<void> {
    const channelId = channelIdOf(part);
    if (isDeferredReply(sent)) await this.#interactions.edit(sent, channelId, contentOf(part));
    else await this.#sending.edit(sent.id, channelId, contentOf(part));
  }

  async typing(place: Place): Promise<void> {
    await this.#sending.typing(place);
  }

  health(): ChannelHealth {
    return this.#receiving?.health ?? { state: 'off' };
  }
}
