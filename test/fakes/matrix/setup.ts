/** The Matrix channel in front of a fake homeserver, and a gateway that only records: shared by the channel's tests. */
import pino from 'pino';
import { create } from '../../../channels/matrix/index.ts';
import type { MatrixTiming } from '../../../channels/matrix/index.ts';
import { manifest } from '../../../channels/matrix/manifest.ts';
import type { ChannelAccess } from '../../../src/contracts/access.ts';
import { accessRules } from '../../../src/contracts/access.ts';
import type { Channel, OutboundPart } from '../../../src/contracts/channel.ts';
import type { CommandListing } from '../../../src/contracts/command.ts';
import type { InboundMessage, MembershipChange } from '../../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../../src/contracts/receive.ts';
import { parseMarkdown } from '../../../src/lib/markdown.ts';
import { MemoryChatSettings } from '../channel-stores.ts';
import { MemoryConnections } from '../connections.ts';
import { builtInLanguages } from '../gateway/languages.ts';
import { FakeHomeserver, MATRIX_TOKEN } from './homeserver.ts';

/** Some commands of the gateway. */
const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'End the running answer' },
  { name: 'new', description: 'Begin a fresh conversation' },
  { name: 'help', description: 'This list' },
];

export const ACCEPTED: Receipt = { kind: 'accepted', turnId: 'turn', seq: 1, position: 0 };

interface SetupOptions {
  limits?: boolean;
  token?: string;
  timing?: Partial<MatrixTiming>;
}

export class MatrixSetup {
  readonly server: FakeHomeserver;
  channel: Channel;
  /** What the store keeps. */
  readonly connections = new MemoryConnections();
  readonly chatSettings = new MemoryChatSettings();
  readonly received: InboundMessage[] = [];
  readonly memberships: MembershipChange[] = [];
  /** Lines of the channel's log. */
  readonly log: string[] = [];
  /** Rooms in which the bot answers, and people who may write to it. */
  groups: string[] = [];
  paired: string[] = [];
  access: ChannelAccess = { ...accessRules({ ...(manifest.ids ?? never()) }).parse({}), owners: [] };
  /** The gateway's receipt for each message. */
  verdict: (message: InboundMessage) => Promise<Receipt> = () => Promise.resolve(ACCEPTED);
  readonly receive: Receive = async (message) => {
    this.received.push(message);
    return await this.verdict(message);
  };
  readonly #options: SetupOptions;

  private constructor(server: FakeHomeserver, options: SetupOptions) {
    this.server = server;
    this.#options = options;
    this.channel = this.#create();
  }

  static async open(options: SetupOptions = {}): Promise<MatrixSetup> {
    return new MatrixSetup(await FakeHomeserver.open(options), options);
  }

  get contents(): string[] {
    return this.received.map(({ content }) => content);
  }

  async start(): Promise<void> {
    await this.channel.start(this.receive);
  }

  /** Another channel on the same store, as a restart or another node makes it; the one before must have been stopped. */
  replace(): void {
    this.channel = this.#create();
  }

  async close(): Promise<void> {
    await this.channel.stop();
    await this.server.close();
    if (this.server.unexpected.length > 0) throw this.server.unexpected[0];
  }

  /** A part of an answer in a room. */
  part(chatId: string, text: string, more: Partial<OutboundPart> = {}): OutboundPart {
    const body = this.channel.render(parseMarkdown(text));
    return { channel: 'matrix', chatId, body, buttons: [], nonce: text, ...more };
  }

  #create(): Channel {
    const { token = MATRIX_TOKEN, timing } = this.#options;
    return create(
      { url: this.server.root, token, ...manifest.settings.parse({}) },
      {
        log: pino({ level: 'trace' }, { write: (line: string) => this.log.push(line) }),
        languages: builtInLanguages,
        connections: this.connections,
        chatSettings: this.chatSettings,
        access: () => this.access,
        gateway: {
          groups: () => Promise.resolve(this.groups),
          mayWrite: ({ senderId }) => Promise.resolve(this.paired.includes(senderId)),
          commands: COMMANDS,
          membershipChanged: (change) => {
            this.memberships.push(change);
            return Promise.resolve();
          },
        },
      },
      { longPollMs: 2_000, retryBaseMs: 10, ...timing },
    );
  }
}

function never(): never {
  throw new Error('the manifest has ids');
}
