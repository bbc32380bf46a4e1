/** What the channel contract needs from a channel's test: the channel with a fake platform, and control of the fake. */
import type { Channel, ChannelManifest } from '../../src/protocol/channel.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import type { DeletedMessages } from '../../src/protocol/store/group-chats.ts';
import type { Receipt, Receive } from '../../src/protocol/receive.ts';

export const WAIT = { timeout: 5_000, interval: 5 };
export const ACCEPTED: Receipt = { kind: 'accepted', turnId: 'turn', seq: 1, position: 0 };

/** A private chat of the fake platform and its user, with the ids the channel must report. */
export interface ContractChat {
  chatId: string;
  senderId: string;
}

/** A channel with its fake platform, which the test controls. Optional methods belong to the requirement of that name. */
export interface ChannelHarness {
  channel: Channel;
  /** Two private chats that exist on the platform. */
  chats: [ContractChat, ContractChat];
  /** Must appear in no error the channel throws: the bot token, or any text when there is none. */
  secret: string;
  /** The chat's user sends a message. Does not wait for the channel. */
  says(chat: ContractChat, text: string): void;
  /** The chat's user types this into the platform's client, which may treat it as a command or keep it. Does not wait. */
  types(chat: ContractChat, text: string): void;
  /** How its manifest writes commands; for a channel that is not in the list. */
  writeCommand?: ChannelManifest['writeCommand'];
  /** Texts visible in the chat now, oldest first, markup applied. */
  screen(chatId: string): string[];
  /** The files visible in the chat now, oldest first. Present where the channel sends files. */
  files?(chatId: string): { name: string; bytes: Buffer; caption: string }[];
  /** How the platform renders a text in the channel's markup; throws when the platform would refuse it. */
  reads(text: string): { visible: string; length: number };
  /** Connections the platform holds open for the channel's receiving: long polls, gateway sockets, streams. */
  receiving(): number;
  /** True when the channel has acknowledged every message so far to the platform. */
  acknowledged?(): boolean;
  /** The platform redelivers the newest message, as it does after a lost acknowledgement or a restart. */
  redelivers?(receive: Receive): void | Promise<void>;
  /** The bot's own message, or another bot's, arrives as an update. */
  echoes?(chat: ContractChat, text: string, from: 'self' | 'bot'): void;
  /** The chat's user sends a file. Does not wait for the channel. */
  sendsFile?(chat: ContractChat, name: string, bytes: Uint8Array): void;
  /** The chat's user deletes the newest message that they wrote. */
  deletes?(chat: ContractChat): void;
  /** What the channel has told the gateway about deleted messages. */
  deleted?(): readonly DeletedMessages[];
  /** A chat of several people: who has the platform's rights of an administrator there, and who has not. */
  group?(): { chatId: string; administrators: string[]; others: string[] };
  /** The next download is cut off in the middle, or answered with this status. */
  failsDownload?(failure: 'cut' | number): void;
  /** The next call is refused with the platform's "wait this long". */
  rateLimits?(retryAfterMs: number): void;
  /** The user blocks the bot. */
  blocks?(chatId: string): void;
  /** The next call is applied, then its connection dies before the answer. */
  losesAnswer?(): void;
  /** The same for the next file. */
  losesFileAnswer?(): void;
  /** The next call gets this status and a page instead of the platform's answer, as from a proxy. */
  fails?(status: number): void;
  /** The next call is refused as if the token were wrong. */
  refusesToken?(): void;
  close(): Promise<void>;
}

/** What the parts of the contract about receiving run over: the harness of each test, and what its channel delivers to. */
export interface ReceivingPart {
  harness: () => ChannelHarness;
  /** Accepts every message. */
  receive: Receive;
  /** The messages that it accepted. */
  received: () => InboundMessage[];
}

/** Requirements that a channel may be exempt from, each with the reason. */
export type ChannelRequirement =
  /** `send` and `edit` show something to users. */
  | 'sends'
  | 'acknowledged'
  | 'redelivers'
  | 'echoes'
  /** Messages carry files that `download` reads, and the fake can make downloads fail. */
  | 'sendsFile'
  /** The platform reports which messages were deleted. */
  | 'deletes'
  /** Chats of several people have administrators. */
  | 'group'
  | 'rateLimits'
  | 'blocks'
  | 'losesAnswer'
  | 'fails'
  | 'refusesToken'
  /** The same nonce twice shows one message. */
  | 'nonce';
