/** The results of reading an update, and the bot that reads it. */
import type { ChannelIdentity } from '../../../src/protocol/channel.ts';
import type { InboundMessage, MembershipChange } from '../../../src/protocol/message.ts';

/** The content of an update: a message, a button press to acknowledge, a moved chat, or nothing, with the reason for the log. */
export type Inbound =
  /**
   * `album` is the same for all parts of an album, and only for those; the rest identifies the parts of a long text.
   */
  | { kind: 'message'; message: InboundMessage; album?: string; textLength: number; isCommand: boolean }
  /**
   * Without a message if the update does not say which button was pressed or where: the press is then only
   * acknowledged.
   */
  | { kind: 'button'; callbackId: string; message?: InboundMessage }
  /** The bot was added to a chat, or can no longer write there. */
  | { kind: 'membership'; change: MembershipChange }
  /** A group has become a supergroup, which has a different id. */
  | { kind: 'moved'; from: string; to: string }
  /** A person has opened or named a topic of a private chat. */
  | { kind: 'topic'; topic: TopicNews }
  /** `from` is set if a person wrote it: that person is waiting for an answer that will not come. */
  | { kind: 'ignored'; why: string; from?: Pick<InboundMessage, 'chatId' | 'threadId' | 'senderId'> };

/** A topic that a person has opened or named. */
export interface TopicNews {
  chatId: string;
  threadId: string;
  /** The person has chosen its name. */
  isNamed: boolean;
}

/**
 * The bot that reads updates, and the names of its commands; in a group, such a command without a bot's name is meant
 * for it.
 */
export interface Reader extends ChannelIdentity {
  commands: ReadonlySet<string>;
}
