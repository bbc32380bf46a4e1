/**
 * The Matrix channel: receives messages by syncs, and sends and edits them as events, all over the client-server API.
 */
import { z } from 'zod';
import type {
  Capabilities,
  Channel,
  ChannelIdentity,
  OutboundFile,
  OutboundPart,
} from '../../src/protocol/channel.ts';
import { ConfigError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import {
  CHANNEL_TIMING,
  type ChannelTiming,
  type PaceSettings,
  type ShowingSettings,
  usualCapabilities,
} from '../../src/protocol/channel-settings.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { SingleReactions } from '../../src/protocol/channel-parts.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { isAdministrator } from './administrators.ts';
import { CLIENT, MatrixClient, pathOf } from './client.ts';
import { checkPlace, contentOf, MAX_LENGTH, relationOf } from './content.ts';
import { readEvents } from './events.ts';
import { openFile } from './files/download.ts';
import { MAX_UPLOAD_BYTES, sendFile } from './files/upload.ts';
import { USER_ID } from './ids.ts';
import { questionReactions } from './question-reactions.ts';
import { Replacements } from './replacements.ts';
import { type MatrixDeps, Receiving } from './receiving/receiving.ts';
import { render } from './rendering/render.ts';
import { Sending } from './sending.ts';

/** Settings of the channel, checked by its manifest. */
export interface MatrixConfig extends ShowingSettings {
  /** Address of the homeserver. */
  url: string | undefined;
  /** Secret. */
  token: string;
  /** Maximum burst of events of the account. */
  accountBurst: number;
  /** Events of the account. */
  eventsPerSecond: PaceSettings;
}

/** The channel's clock and waits, in milliseconds. */
export interface MatrixTiming extends ChannelTiming {
  /** How long the homeserver may hold a sync open. */
  longPollMs: number;
}

const TIMING: MatrixTiming = { ...CHANNEL_TIMING, longPollMs: 30_000 };

/** How long others see that the bot is typing, and after how long this is renewed. */
const TYPING_SHOWN_MS = 12_000;
const TYPING_MS = 8_000;

const NO_URL =
  'MATRIX_TOKEN is set, but MATRIX_URL is not: set MATRIX_URL to the address of the homeserver, such as https://matrix.example.org.';

/** Creates the channel; connects nothing before `start`. Throws `ConfigError` without an address. */
export function create(config: MatrixConfig, deps: MatrixDeps, timing: Partial<MatrixTiming> = {}): Channel {
  const { url } = config;
  if (url === undefined) throw new ConfigError('bad_config', NO_URL);
  return new MatrixChannel({ ...config, url }, deps, { ...TIMING, ...timing });
}

const WhoAmI = z.object({ user_id: z.string().regex(USER_ID) });

class MatrixChannel implements Channel {
  readonly name = 'matrix';
  readonly capabilities: Capabilities;
  readonly render = render;
  readonly download: NonNullable<Channel['download']>;
  readonly react: NonNullable<Channel['react']>;
  readonly #deps: MatrixDeps;
  readonly #timing: MatrixTiming;
  readonly #client: MatrixClient;
  readonly #sending: Sending;
  readonly #reactions: SingleReactions;
  readonly #replacements: Replacements;
  #receiving: Receiving | undefined;
  /** The bot's id, once it has been requested. */
  #self: string | undefined;

  constructor(config: MatrixConfig & { url: string }, deps: MatrixDeps, timing: MatrixTiming) {
    const { epochNow, monotonicMs, silenceMs } = timing;
    this.#deps = deps;
    this.#timing = timing;
    const client = new MatrixClient({ ...config, epochNow, monotonicMs });
    this.#client = client;
    const replacements = new Replacements({ client, monotonicMs });
    this.#replacements = replacements;
    this.#sending = new Sending({ client, replacements, monotonicMs });
    this.#reactions = questionReactions({
      client,
      sending: this.#sending,
      self: async () => this.#self ?? (await this.#whoAmI()),
      monotonicMs,
    });
    this.react = (question, state) => this.#reactions.show(question, state);
    this.download = async (media, signal) => await openFile({ client, silenceMs }, media, signal);
    this.capabilities = usualCapabilities({
      reactsIn: config.reactions,
      maxFileBytes: MAX_UPLOAD_BYTES,
      maxLength: MAX_LENGTH,
      rates: {
        callsPerSecond: config.eventsPerSecond,
        bucket: config.accountBurst,
        of: ({ chatId }) => rateOf(config, chatId),
      },
      typingMs: TYPING_MS,
    });
  }

  async identify(): Promise<ChannelIdentity> {
    const id = await this.#whoAmI();
    return { id, name: id };
  }

  async start(receive: Receive): Promise<void> {
    await this.#receiving?.stop();
    const self = this.#self ?? (await this.#whoAmI());
    this.#receiving = new Receiving({
      ...this.#deps,
      ...this.#timing,
      client: this.#client,
      sending: this.#sending,
      replacements: this.#replacements,
      reactions: this.#reactions,
      self,
      receive,
    });
    await this.#receiving.start();
  }

  async stop(): Promise<void> {
    await this.#receiving?.stop();
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const content = { ...contentOf(part), ...relationOf(part, part.replyTo, part.after?.id) };
    return await this.#sending.send(part, content, part.nonce);
  }

  async sendFile(file: OutboundFile): Promise<SentMessage> {
    checkPlace(file);
    return await sendFile({ client: this.#client, sending: this.#sending }, file);
  }

  async edit(sent: SentMessage, part: OutboundPart): Promise<SentMessage> {
    await this.#sending.edit(sent, part, contentOf(part));
    return sent;
  }

  async delete(sent: SentMessage, place: Place): Promise<void> {
    await this.#sending.delete(sent, place);
  }

  async typing(place: Place): Promise<void> {
    checkPlace(place);
    const self = this.#self ?? (await this.#whoAmI());
    const path = pathOf(CLIENT, 'rooms', place.chatId, 'typing', self);
    await this.#client.call('PUT', path, {
      body: { typing: true, timeout: TYPING_SHOWN_MS },
      limit: 'typing',
    });
  }

  /** Reads the full state of the room: the content of the event that created it does not say by whom. */
  async isAdmin(place: Place, senderId: string): Promise<boolean> {
    checkPlace(place);
    const answer = await this.#client.call('GET', pathOf(CLIENT, 'rooms', place.chatId, 'state'));
    return isAdministrator(readEvents(answer), senderId);
  }

  health(): ChannelHealth {
    const receiving = this.#receiving?.health ?? { state: 'off' };
    return receiving.state === 'off' ? receiving : (this.#client.health ?? receiving);
  }

  async #whoAmI(): Promise<string> {
    const answer = await this.#client.call('GET', pathOf(CLIENT, 'account', 'whoami'));
    const { data } = WhoAmI.safeParse(answer);
    if (data === undefined)
      throw channelUnavailable(
        'The Matrix homeserver did not say who the token belongs to; asking again later.',
      );
    this.#self = data.user_id;
    return data.user_id;
  }
}

/** A homeserver counts an account's events over all its rooms. */
function rateOf({ editIntervalMs, burst }: MatrixConfig, roomId: string): PlaceRate {
  return { key: roomId, editIntervalMs, burst, reserved: 1, countsForBot: true };
}
