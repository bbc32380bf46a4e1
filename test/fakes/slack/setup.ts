/** The Slack channel in front of a fake Slack, and a gateway that only records: shared by the channel's tests. */
import pino from 'pino';
import { create } from '../../../channels/slack/index.ts';
import type { SlackTiming } from '../../../channels/slack/index.ts';
import { manifest } from '../../../channels/slack/manifest.ts';
import type { Channel, OutboundPart } from '../../../src/contracts/channel.ts';
import { ChannelError } from '../../../src/contracts/errors.ts';
import { parseMarkdown } from '../../../src/lib/markdown.ts';
import type { CommandListing } from '../../../src/contracts/command.ts';
import type { InboundMessage, MembershipChange } from '../../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../../src/contracts/receive.ts';
import { MemoryConnections } from '../connections.ts';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN } from './slack.ts';
import type { FakeSlackOptions } from './slack.ts';
import { builtInLanguages } from '../gateway/languages.ts';

/** The commands of the gateway. */
const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'End the running answer' },
  { name: 'new', description: 'Begin a fresh conversation' },
  {
    name: 'queue',
    description: 'How to handle messages that arrive meanwhile',
    argument: { name: 'mode', description: 'One of the modes', required: false },
  },
  { name: 'help', description: 'This list' },
];

export const ACCEPTED: Receipt = { kind: 'accepted', turnId: 'turn', seq: 1, position: 0 };

interface SetupOptions extends FakeSlackOptions {
  token?: string;
  appToken?: string;
  timing?: Partial<SlackTiming>;
}

export class SlackSetup {
  readonly slack: FakeSlack;
  channel: Channel;
  /** What the store keeps of the connection. */
  readonly connections = new MemoryConnections();
  readonly received: InboundMessage[] = [];
  readonly memberships: MembershipChange[] = [];
  /** Lines of the channel's log. */
  readonly log: string[] = [];
  /** Channels in which the bot answers. */
  groups: string[] = [];
  /** The gateway's receipt for each message. */
  verdict: (message: InboundMessage) => Promise<Receipt> = () => Promise.resolve(ACCEPTED);
  readonly receive: Receive = async (message) => {
    this.received.push(message);
    return await this.verdict(message);
  };
  readonly #options: SetupOptions;

  private constructor(slack: FakeSlack, options: SetupOptions) {
    this.slack = slack;
    this.#options = options;
    this.channel = this.#create();
  }

  static async open(options: SetupOptions = {}): Promise<SlackSetup> {
    return new SlackSetup(await FakeSlack.open(options), options);
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
    await this.slack.close();
    if (this.slack.unexpected.length > 0) throw this.slack.unexpected[0];
  }

  /** A part of an answer in a chat. */
  part(chatId: string, text: string, nonce = text): OutboundPart {
    const body = this.channel.render(parseMarkdown(text));
    return { channel: 'slack', chatId, body, buttons: [], nonce };
  }

  #create(): Channel {
    const { token = SLACK_TOKEN, appToken = SLACK_APP_TOKEN, timing } = this.#options;
    return create(
      { token, appToken, apiRoot: this.slack.apiRoot, ...manifest.settings.parse({}) },
      {
        log: pino({ level: 'trace' }, { write: (line: string) => this.log.push(line) }),
        connections: this.connections,
        languages: builtInLanguages,
        gateway: {
          groups: () => Promise.resolve(this.groups),
          commands: COMMANDS,
          membershipChanged: (change) => {
            this.memberships.push(change);
            return Promise.resolve();
          },
        },
      },
      { retryBaseMs: 10, saveEveryMs: 5, historySpacingMs: 0, closeMs: 200, deferAfterMs: 200, ...timing },
    );
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
