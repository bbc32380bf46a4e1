/** What updates come to, and for whom they are read. */
import type { ChannelIdentity } from '../../../src/contracts/channel.ts';
import type { InboundMessage, MembershipChange } from '../../../src/contracts/message.ts';

/** The content of an update: a message, a button press to acknowledge, a moved chat, or nothing, with the reason for the log. */
export type Inbound =
  /** `album` is the same for all parts of an album, and for nothing else; the rest tells the parts of a long text. */
  | { kind: 'message'; message: InboundMessage; album?: string; textLength: number; isCommand: boolean }
  /** Without a message when the update does not tell what was pressed or where: then the press is only acknowledged. */
  | { kind: 'button'; callbackId: string; message?: InboundMessage }
  /** The bot was let into a chat, or can no longer write there. */
  | { kind: 'membership'; change: MembershipChange }
  /** A group has become a supergroup, which has an id of its own. */
  | { kind: 'moved'; from: string; to: string }
  /** A person has opened a topic of a private chat, or named one. */
  | { kind: 'topic'; topic: TopicNews }
  /** `from` is set for what a person wrote: they wait for an answer that does not come. */
  | { kind: 'ignored'; why: string; from?: Pick<InboundMessage, 'chatId' | 'threadId' | 'senderId'> };

/** A topic that a person has opened, or given a name. */
export interface TopicNews {
  chatId: string;
  threadId: string;
  /** The person has chosen its name. */
  isNamed: boolean;
}

/** The bot that reads updates, and the names of its commands; without a bot's name in a group they are meant for it. */
export interface Reader extends ChannelIdentity {
  commands: ReadonlySet<string>;
}
