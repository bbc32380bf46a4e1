/** The Discord channel in front of a fake Discord, and a gateway that only records: shared by the channel's tests. */
import type { z } from 'zod';
import type { DiscordTiming } from '../../../channels/discord/config.ts';
import { create } from '../../../channels/discord/index.ts';
import { manifest } from '../../../channels/discord/manifest.ts';
import type { Channel, ChannelDeps } from '../../../src/protocol/channel.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { EventListener } from '../../../src/protocol/bus.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import { ChannelSetup } from '../gateway/channel-setup.ts';
import { partial } from './partial.ts';
import { FakeDiscord, type FakeDiscordOptions } from './discord.ts';

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

interface SetupOptions {
  token?: string;
  now?: () => number;
  apiRoot?: string;
  timing?: Partial<DiscordTiming>;
  /** `channels.discord` of config.json. */
  settings?: z.input<typeof manifest.settings>;
}

export class DiscordSetup extends ChannelSetup {
  readonly discord: FakeDiscord;
  channel: Channel;
  /** Who receives the gateway's events. */
  readonly listeners = new Set<EventListener>();
  /** What the gateway suggests. */
  suggest: (message: InboundMessage) => Promise<readonly string[]> = () => Promise.resolve([]);
  /** The gateway accepts messages as separate questions. */
  opensThreads = true;
  override readonly receive: Receive = async (message, options) => {
    const threadId = this.opensThreads ? await options?.openThread?.() : undefined;
    const asked = threadId === undefined ? message : { ...message, threadId };
    this.received.push(asked);
    return await this.verdict(asked);
  };

  readonly #options: SetupOptions;

  private constructor(discord: FakeDiscord, options: SetupOptions) {
    super();
    this.discord = discord;
    this.#options = options;
    this.channel = this.create();
  }

  protected override create(): Channel {
    const { token = this.discord.token, apiRoot = this.discord.apiRoot, timing, now } = this.#options;
    return create(
      { token, apiRoot, ...manifest.settings.parse(this.#options.settings ?? {}) },
      partial<ChannelDeps>({
        ...this.deps,
        gateway: partial<GatewayApi>({
          ...this.gateway,
          commands: COMMANDS,
          suggest: (message) => this.suggest(message),
          noteRefusal: () => undefined,
          receive: (message, options) => this.receive(message, options),
          subscribe: (_filter, listener) => {
            this.listeners.add(listener);
            return () => this.listeners.delete(listener);
          },
        }),
      }),
      {
        identifySpacingMs: 20,
        retryBaseMs: 10,
        closeMs: 200,
        deferAfterMs: 200,
        saveEveryMs: 5,
        historySpacingMs: 0,
        ...(now === undefined ? {} : { epochNow: now, monotonicMs: now }),
        ...timing,
      },
    );
  }

  static async open(options: FakeDiscordOptions & SetupOptions = {}): Promise<DiscordSetup> {
    const setup = new DiscordSetup(await FakeDiscord.open({ identifySpacingMs: 15, ...options }), options);
    if (options.now !== undefined) setup.connections.clock = options.now;
    return setup;
  }

  protected override async closePlatform(): Promise<void> {
    await this.discord.close();
  }
}
