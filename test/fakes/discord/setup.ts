/** The Discord channel in front of a fake Discord, and a gateway that only records: shared by the channel's tests. */
import pino from 'pino';
import type { z } from 'zod';
import { create } from '../../../channels/discord/index.ts';
import type { DiscordTiming } from '../../../channels/discord/index.ts';
import { manifest } from '../../../channels/discord/manifest.ts';
import type { Channel, OutboundPart } from '../../../src/contracts/channel.ts';
import type { EventListener } from '../../../src/contracts/bus.ts';
import { ChannelError } from '../../../src/contracts/errors.ts';
import { parseMarkdown } from '../../../src/lib/markdown.ts';
import type { CommandListing } from '../../../src/contracts/command.ts';
import type { InboundMessage } from '../../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../../src/contracts/receive.ts';
import { MemoryConnections } from '../connections.ts';
import { FakeDiscord } from './discord.ts';
import type { FakeDiscordOptions } from './discord.ts';
import { builtInLanguages } from '../gateway/languages.ts';

/** The commands of the gateway. */
const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'End the running answer' },
  {
    name: 'queue',
    description: 'How to handle messages that arrive meanwhile',
    argument: { name: 'mode', description: 'One of the modes', required: false },
  },
  {
    name: 'pick',
    description: 'Something that can be chosen',
    argument: { name: 'name', description: 'Which one', required: false, suggests: true },
  },
  {
    name: 'switch',
    description: 'On or off',
    argument: { name: 'state', description: 'Which', required: false, choices: ['on', 'off'] },
  },
  { name: 'help', description: 'This list' },
];

export const ACCEPTED: Receipt = { kind: 'accepted', turnId: 'turn', seq: 1, position: 0 };

interface SetupOptions {
  token?: string;
  now?: () => number;
  apiRoot?: string;
  timing?: Partial<DiscordTiming>;
  /** `channels.discord` of config.json. */
  settings?: z.input<typeof manifest.settings>;
}

export class DiscordSetup {
  readonly discord: FakeDiscord;
  channel: Channel;
  /** What the store keeps of the connection. */
  readonly connections = new MemoryConnections();
  readonly received: InboundMessage[] = [];
  /** Lines of the channel's log. */
  readonly log: string[] = [];
  /** Channels of servers in which the bot answers. */
  groups: string[] = [];
  /** Who hears the gateway's events. */
  readonly listeners = new Set<EventListener>();
  /** What the gateway suggests. */
  suggest: (message: InboundMessage) => Promise<readonly string[]> = () => Promise.resolve([]);
  /** The gateway accepts messages as questions of their own. */
  opensThreads = true;
  /** The gateway's receipt for each message. */
  verdict: (message: InboundMessage) => Promise<Receipt> = () => Promise.resolve(ACCEPTED);
  readonly receive: Receive = async (message, options) => {
    const threadId = this.opensThreads ? await options?.openThread?.() : undefined;
    const asked = threadId === undefined ? message : { ...message, threadId };
    this.received.push(asked);
    return await this.verdict(asked);
  };

  readonly #options: SetupOptions;

  private constructor(discord: FakeDiscord, options: SetupOptions) {
    this.discord = discord;
    this.#options = options;
    this.channel = this.#create();
  }

  #create(): Channel {
    const { token = this.discord.token, apiRoot = this.discord.apiRoot, timing, now } = this.#options;
    return create(
      { token, apiRoot, ...manifest.settings.parse(this.#options.settings ?? {}) },
      {
        log: pino({ level: 'trace' }, { write: (line: string) => this.log.push(line) }),
        connections: this.connections,
        languages: builtInLanguages,
        gateway: {
          groups: () => Promise.resolve(this.groups),
          commands: COMMANDS,
          suggest: (message) => this.suggest(message),
          noteRefusal: () => undefined,
          receive: (message, options) => this.receive(message, options),
          subscribe: (_filter, listener) => {
            this.listeners.add(listener);
            return () => this.listeners.delete(listener);
          },
        },
      },
      {
        identifySpacingMs: 20,
        retryBaseMs: 10,
        closeMs: 200,
        deferAfterMs: 200,
        saveEveryMs: 5,
        historySpacingMs: 0,
        ...(now === undefined ? {} : { now, monotonicMs: now }),
        ...timing,
      },
    );
  }

  static async open(options: FakeDiscordOptions & SetupOptions = {}): Promise<DiscordSetup> {
    return new DiscordSetup(await FakeDiscord.open({ identifySpacingMs: 15, ...options }), options);
  }

  get contents(): string[] {
    return this.received.map(({ content }) => content);
  }

  async start(): Promise<void> {
    await this.channel.start(this.receive);
  }

  /** Stops the channel, and starts another one on the same store, as a restart or another node does. */
  async restart(meanwhile: () => void = () => undefined): Promise<void> {
    await this.channel.stop();
    meanwhile();
    this.replace();
    await this.start();
  }

  /** Another channel on the same store; the one before must have been stopped. */
  replace(): void {
    this.channel = this.#create();
  }

  async close(): Promise<void> {
    await this.channel.stop();
    await this.discord.close();
  }

  /** A part of an answer in a channel. */
  part(chatId: string, text: string, nonce = text): OutboundPart {
    const body = this.channel.render(parseMarkdown(text));
    return { channel: 'discord', chatId, body, buttons: [], nonce };
  }
}

/** The `ChannelError` that a call throws. Throws when it throws none. */
export async function failureOf(call: Promise<unknown> | undefined): Promise<ChannelError> {
  const error: unknown = await Promise.resolve(call).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ChannelError) return error;
  throw new Error(`no ChannelError but ${String(error)}`);
}
