/** A Discord server over real sockets: the API that a bot uses, and the test's control of what people write and see. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeCdn } from './cdn.ts';
import { FakeGateway } from './gateway/gateway.ts';
import { INTENT } from './gateway/gateway-frames.ts';
import { guildsOf } from './guild.ts';
import { type ForcedLimit, type HiddenLimit, Limits } from './limits.ts';
import { visibleText } from './markdown.ts';
import { type Failure, FakeRest } from './rest.ts';
import { channelJson, installedBy, messageJson, personJson } from './json.ts';
import {
  DiscordPlatform,
  type FakeChannel,
  type FakeInteraction,
  type FakeMessage,
  type FakePerson,
  FLAG_LOADING,
} from './platform.ts';
import { said, type SayOptions } from './say.ts';
import { FLAG_VOICE_MESSAGE } from './uploads.ts';

export interface FakeDiscordOptions {
  /** The platform's clock, epoch milliseconds. */
  now?: () => number;
  heartbeatMs?: number;
  identifySpacingMs?: number;
  /** Limits that the documentation does not name; default: none that a test reaches. */
  limits?: { send?: HiddenLimit; edit?: HiddenLimit };
}

/** Shaped like a bot token: three parts of base64url. */
export const DISCORD_TOKEN = 'MTE3NzAwMDAwMDAwMDAwMDAwMA.GfAkEt.fake-fake-fake-fake-fake-fake-fake-12';

export class FakeDiscord {
  readonly platform: DiscordPlatform;
  readonly limits: Limits;
  readonly gateway: FakeGateway;
  readonly rest: FakeRest;
  readonly cdn: FakeCdn;
  readonly token = DISCORD_TOKEN;
  /** False: like servers that name no `channel_type` in their events. */
  namesChannelType = true;
  /** False: as if the events were lost with a process, and the session continued with the next. */
  tellsOfThreads = true;
  /**
   * Threads that the gateway has announced, in a server or when they were opened: the others it announces with their
   * first message.
   */
  readonly #reportedThreads = new Set<string>();
  readonly #server = createServer((request, response) => {
    if (this.cdn.serves(request, response)) return;
    this.rest.handle(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });

  private constructor(options: FakeDiscordOptions) {
    const now = options.now ?? Date.now;
    this.platform = new DiscordPlatform(now);
    this.limits = new Limits(now, options.limits);
    this.cdn = new FakeCdn(
      () => `http://127.0.0.1:${this.port}`,
      () => this.platform.newId(),
    );
    this.gateway = new FakeGateway({
      token: this.token,
      heartbeatMs: options.heartbeatMs ?? 41_250,
      identifySpacingMs: options.identifySpacingMs ?? 5_000,
      now,
      url: () => this.gatewayUrl,
      ready: () => ({
        v: 10,
        user: personJson(this.platform.bot),
        guilds: [{ id: this.platform.guildId, unavailable: true }],
        session_type: 'normal',
        application: { id: this.platform.applicationId, flags: this.gateway.applicationFlags },
      }),
      guilds: () => guildsOf(this.platform, ({ id }) => this.#reportedThreads.add(id)),
    });
    this.rest = new FakeRest({
      token: this.token,
      limits: this.limits,
      shared: () => ({
        platform: this.platform,
        gatewayUrl: this.gatewayUrl,
        startsLeft: this.gateway.counts.startsLeft,
        shards: this.gateway.shards,
        maxConcurrency: this.gateway.maxConcurrency,
        applicationFlags: this.gateway.applicationFlags,
      }),
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.gateway.upgrade(request, socket, head);
    });
  }

  static async open(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
    const fake = new FakeDiscord(options);
    await fake.listen();
    return fake;
  }

  /** Opens the port again after `disappear`. */
  async listen(port = 0): Promise<void> {
    await new Promise<void>((done) => {
      this.#server.listen(port, '127.0.0.1', done);
    });
  }

  get port(): number {
    // A listening TCP server has an address with a port.
    return (this.#server.address() as AddressInfo).port;
  }

  get apiRoot(): string {
    return `http://127.0.0.1:${this.port}/api`;
  }

  get gatewayUrl(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** A direct-message channel with a new person. */
  dm(name = 'Ada'): { channel: FakeChannel; person: FakePerson } {
    return { channel: this.platform.addChannel(1), person: this.person(name) };
  }

  /** A member of the server. */
  person(name: string): FakePerson {
    const person = { id: this.platform.newId(), name };
    this.platform.members.set(person.id, person);
    return person;
  }

  /** A person writes in a channel; the gateway dispatches the message. */
  says(channel: FakeChannel, text: string, from: FakePerson, options: SayOptions = {}): FakeMessage {
    const message = said(this.platform, channel, text, from, options);
    this.deliver(message);
    return message;
  }

  /** Dispatches a message over the gateway, even a second time. */
  deliver(message: FakeMessage): void {
    const channel = this.platform.channel(message.channelId);
    const { bot } = this.platform;
    if (channel.type === 11) this.#tellOfThread(channel);
    const named = message.author.id === bot.id || message.mentions.some(({ id }) => id === bot.id);
    const intent = channel.type === 1 ? INTENT.directMessages : INTENT.guildMessages;
    this.gateway.dispatch(
      'MESSAGE_CREATE',
      intent,
      (intents) => {
        const readable = channel.type === 1 || named || (intents & INTENT.messageContent) !== 0;
        return {
          ...messageJson(message),
          ...(this.namesChannelType ? { channel_type: channel.type } : {}),
          ...(readable ? {} : { content: '', attachments: [] }),
          ...(channel.guildId === undefined
            ? {}
            : {
                guild_id: channel.guildId,
                member: { roles: message.author.roles ?? [], joined_at: '2026-01-01T00:00:00Z' },
              }),
        };
      },
      channel.guildId,
    );
  }

  /** THREAD_CREATE, once for each: Discord does not track who has missed it. */
  #tellOfThread(thread: FakeChannel): void {
    if (!this.tellsOfThreads || this.#reportedThreads.has(thread.id)) return;
    this.#reportedThreads.add(thread.id);
    const event = { ...channelJson(thread), newly_created: true };
    this.gateway.dispatch('THREAD_CREATE', INTENT.guilds, () => event, thread.guildId);
  }

  /** A person uses a slash command; returns the id of the interaction. */
  slash(
    channel: FakeChannel,
    command: string,
    options: Record<string, string>,
    from: FakePerson,
    files: Record<string, { id: string }> = {},
  ): string {
    const attachments = Object.fromEntries(Object.values(files).map((file) => [file.id, file]));
    return this.interact(channel, this.platform.addInteraction(channel.id, from, 2), {
      type: 2,
      data: {
        id: this.platform.newId(),
        name: command.replace('/', ''),
        type: 1,
        options: [
          ...Object.entries(options).map(([name, value]) => ({ name, type: 3, value })),
          ...Object.entries(files).map(([name, { id: value }]) => ({ name, type: 11, value })),
        ],
        ...(Object.keys(files).length > 0 && { resolved: { attachments } }),
      },
    });
  }

  /**
   * A person presses the newest visible button with that label (or the one under `on`), or sends any id; returns the
   * interaction's id.
   */
  press(channel: FakeChannel, label: string, from: FakePerson, forgedId?: string, on?: FakeMessage): string {
    const seen = on === undefined ? this.visible(channel, from) : [on];
    const under = seen.findLast(({ buttons }) => buttons.some((button) => button.label === label));
    const message = under ?? (forgedId === undefined ? undefined : seen.at(-1));
    if (message === undefined) throw new Error(`no button "${label}" is visible`);
    const customId = forgedId ?? message.buttons.find((button) => button.label === label)?.customId;
    return this.interact(channel, this.platform.addInteraction(channel.id, from, 3, message), {
      type: 3,
      message: messageJson(message),
      data: { component_type: 2, id: 2, custom_id: customId },
    });
  }

  /** Dispatches an interaction; `what` are the fields of its kind. */
  interact(channel: FakeChannel, interaction: FakeInteraction, what: object): string {
    const { user: from } = interaction;
    const guild = channel.guildId;
    const event = {
      id: interaction.id,
      application_id: this.platform.applicationId,
      token: interaction.token,
      version: 1,
      channel_id: channel.id,
      channel: channelJson(channel),
      entitlements: [],
      locale: from.locale ?? 'en-GB',
      ...what,
      ...installedBy(channel, from),
      ...(guild === undefined
        ? { user: personJson(from) }
        : {
            guild_id: guild,
            member: { user: personJson(from), roles: from.roles ?? [], permissions: '0' },
          }),
    };
    const { endpoint } = this.platform;
    if (endpoint.url === undefined) this.gateway.dispatch('INTERACTION_CREATE', 0, () => event, guild);
    else void endpoint.post(endpoint.url, event);
    return interaction.id;
  }

  /**
   * The messages a person sees in a channel, oldest first: their texts, markup applied, a file as `[file a.png]` before its
   * caption; the person's own hidden answers, too, if named.
   */
  screen(channel: FakeChannel, viewer?: FakePerson): string[] {
    return this.visible(channel, viewer).map(({ flags, author, files = [], content }) => {
      if ((flags & FLAG_LOADING) !== 0) return `${author.name} is thinking...`;
      const kind = (flags & FLAG_VOICE_MESSAGE) === 0 ? 'file' : 'voice';
      return [...files.map(({ name }) => `[${kind} ${name}]`), visibleText(content)].join(' ').trim();
    });
  }

  /** The messages behind `screen`. */
  visible(channel: FakeChannel, viewer?: FakePerson): FakeMessage[] {
    const all = this.platform.messages.get(channel.id) ?? [];
    return all.filter((message) => message.onlyFor === undefined || message.onlyFor === viewer?.id);
  }

  /** The next call is refused with a 429. */
  rateLimit(retryAfterMs: number, scope: ForcedLimit['scope'] = 'user'): void {
    this.limits.force({ retryAfterMs, scope });
  }

  /** The next matching call fails. */
  failure(failure: Failure): void {
    this.rest.failures.push(failure);
  }

  /** An outage: the port closes and every connection breaks. */
  async disappear(): Promise<void> {
    this.gateway.cut();
    const closed = new Promise<void>((done) => {
      this.#server.close(() => {
        done();
      });
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.disappear();
    await this.gateway.stop();
  }
}
