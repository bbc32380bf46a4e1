/**
 * A channel in front of a fake platform, and a gateway that only records: what the setups of such channels have in
 * common.
 */
import pino from 'pino';
import type { Channel, ChannelDeps, OutboundPart } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { InboundMessage, MembershipChange } from '../../../src/protocol/message.ts';
import type { DeletedMessages } from '../../../src/protocol/store/group-chats.ts';
import type { Receipt, Receive } from '../../../src/protocol/receive.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { MemoryConnections } from '../stores/connections.ts';
import { chosenLanguages } from './languages.ts';

export const ACCEPTED: Receipt = { kind: 'accepted', turnId: 'turn', seq: 1, position: 0 };

export abstract class ChannelSetup {
  /** Set by the subclass's constructor. */
  abstract channel: Channel;
  /** What the store keeps about the connection. */
  readonly connections = new MemoryConnections();
  readonly received: InboundMessage[] = [];
  readonly memberships: MembershipChange[] = [];
  /** What the platform reported as deleted. */
  readonly deleted: DeletedMessages[] = [];
  /** Lines of the channel's log. */
  readonly log: string[] = [];
  /** Groups in which the bot answers. */
  groups: string[] = [];
  /** The gateway's receipt for each message. */
  verdict: (message: InboundMessage) => Promise<Receipt> = () => Promise.resolve(ACCEPTED);
  readonly receive: Receive = async (message) => {
    this.received.push(message);
    return await this.verdict(message);
  };

  /** A new channel on the same store. */
  protected abstract create(): Channel;
  protected abstract closePlatform(): Promise<void>;

  /** Which language each person reads. */
  readonly languages = chosenLanguages();

  /** What every such channel receives. */
  protected get deps() {
    return {
      log: pino({ level: 'trace' }, { write: (line: string) => this.log.push(line) }),
      connections: this.connections,
      languages: this.languages,
    };
  }

  /** The dependencies of a channel, with more of the gateway; what they lack, the channel does not use. */
  depsWith(gateway: Partial<GatewayApi>, more: Partial<ChannelDeps> = {}): ChannelDeps {
    return { ...this.deps, ...more, gateway: { ...this.gateway, ...gateway } } as unknown as ChannelDeps;
  }

  /** What every such channel receives from the gateway. */
  protected readonly gateway = {
    groups: () => Promise.resolve(this.groups),
    membershipChanged: async (change: MembershipChange) => void this.memberships.push(change),
    messagesDeleted: async (deleted: DeletedMessages) => void this.deleted.push(deleted),
  };

  get contents(): string[] {
    return this.received.map(({ content }) => content);
  }

  async start(): Promise<void> {
    await this.channel.start(this.receive);
  }

  /** Another channel on the same store; the previous one must have been stopped. */
  replace(): void {
    this.channel = this.create();
  }

  /** Stops the channel, and starts another one on the same store, as a restart or another node does. */
  async restart(whileStopped: () => void = () => undefined): Promise<void> {
    await this.channel.stop();
    whileStopped();
    this.replace();
    await this.start();
  }

  async close(): Promise<void> {
    await this.channel.stop();
    await this.closePlatform();
  }

  /** A part of an answer in a chat; its nonce is the text. */
  part(chatId: string, text: string, more: Partial<OutboundPart> = {}): OutboundPart {
    const body = this.channel.render(parseMarkdown(text));
    return { channel: this.channel.name, chatId, body, buttons: [], nonce: text, ...more };
  }
}

/** The `ChannelError` that a call throws. Throws if it throws none. */
export async function failureOf(call: Promise<unknown> | undefined): Promise<ChannelError> {
  const error: unknown = await Promise.resolve(call).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ChannelError) return error;
  throw new Error(`no ChannelError but ${String(error)}`);
}
