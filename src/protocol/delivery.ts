/** The live message of a turn, as the agent sees it, messages in the middle of a turn, and how often a platform may be called. */
import type { NotedParts } from './store/ledger.ts';
import type { LiveCounts } from './store/traces.ts';
import type { LaneStep } from './store/lanes.ts';
import type { Attachment } from './media.ts';
import type { Address, Button, InboundMessage, Place, SentMessage, SessionKey } from './message.ts';
import type { Plan } from './agent/plan.ts';
import type { OtherSurface } from './store/records.ts';
import type { Say, TextRef } from './texts/say.ts';

/** How growing answers appear in a chat: in a draft, in a message that is edited, or only once they are complete. */
export const STREAM_MODES = ['draft', 'edit', 'off'] as const;
export type StreamMode = (typeof STREAM_MODES)[number];

/** The name under which the mode of a chat is stored (`ChatSettingStore`). */
export const STREAM_SETTING = 'stream';

/** The name under which a chat's wish to see the model's thinking is stored. */
export const THINKING_SETTING = 'thinking';
/** Longest thinking that is folded into an answer, in UTF-16 units. */
export const MAX_FOLDED_THINKING = 1_000;
/** The name under which a chat has stored whether it wants rich messages: `on` or `off`; a channel with `renderWhole` reads it. */
export const RICH_SETTING = 'rich';

/** How the answers of chats appear. No method rejects. */
export interface StreamModes {
  /** Whether the chat at an address wants to see the model's thinking; false while that is unknown. */
  showsThinking(address: Address): Promise<boolean>;
  /** The mode of the chat at an address; `edit` while that is unknown. */
  modeOf(address: Address): Promise<StreamMode>;
  /** The platform has refused a draft there: answers grow in messages for a day. */
  noteDraftRefused(address: Address): Promise<void>;
}

/** Drafts of a network: unfinished text, shown in place of the message to come. Milliseconds. */
export interface DraftRules {
  everyMs: number;
  /** A draft disappears this long after it was shown. */
  keepMs: number;
  shownIn(chatId: string): boolean;
}

/** A message of a person on its platform. */
export interface AskedQuestion extends Place {
  messageId: string;
  place: InboundMessage['place'];
}

/** What a live message needs to know of its turn. */
export interface LiveTurnStart {
  turnId: string;
  session: SessionKey;
  address: Address;
  /** The other chats that share the session when the turn begins. */
  surfaces: readonly OtherSurface[];
  replyTo?: string | undefined;
  /** What is answered, if it is a message that can show reactions. */
  question?: AskedQuestion | undefined;
  /** Parts already on screen: from before a crash, or a deferred reply. */
  placeholders: SentMessage[];
  /** Another process held the turn before, and its last call may still arrive: what is shown is uncertain. */
  takenOver?: boolean;
  textSoFar: string;
  /** T5: stores the platform ids of the parts of `ref` (the turn, the card of its plan) before they are used further. */
  note: (ref: string, sent: SentMessage[]) => Promise<NotedParts>;
  /** The current plan of the turn: its card may be on screen from before a crash. */
  plan?: Plan | undefined;
  /** The language of what is shown besides the model's text; default: English. */
  language?: string | undefined;
}

export interface LiveTurn {
  /**
   * Ends the live message: no more text, waits for the call in flight, ends typing. After it resolves, only the final
   * delivery sends for this turn. Returns the calls it has made; undefined when it makes none. Never throws; waits at
   * most 10 s.
   */
  settle(): Promise<LiveCounts | undefined>;
  /** The session's other chats that the growing answer was for, without those that cannot be written to. */
  shownOn(): readonly Pick<OtherSurface, 'address' | 'userId'>[];
}

/** A background subagent, as its card shows it. */
export interface AgentCard {
  agentId: string;
  address: Address;
  profileId: string;
  task: string;
  /** Of the person whose turn spawned it; absent = English. */
  language?: string | undefined;
}

/** How a background subagent ended. */
export type AgentEnd = 'finished' | 'ended' | 'stopped';

/** A card that follows its subagent. */
export interface FollowedAgent {
  /** Makes no more calls; resolves when the last one has ended. Never throws. */
  release(): Promise<void>;
}

/** Under what the messages of a card are stored. */
export function agentCardRef(agentId: string): string {
  return `card:${agentId}`;
}

/** Shows a turn's events as a live message. Channels without `edit` get typing only, and no cards. */
export interface LiveMessages {
  /** Never throws. */
  open(start: LiveTurnStart): LiveTurn;
  /** Sends the card of a background subagent, once however often it is called. Throws only `StoreError`. */
  announceAgent(card: AgentCard): Promise<void>;
  /** Edits the card with what its subagent does. Never throws. */
  followAgent(session: SessionKey, card: AgentCard): FollowedAgent;
  /** Shows how it ended; `key` tells the end of this attempt from those before. Throws only `StoreError`. */
  endAgent(card: AgentCard, end: AgentEnd, key: string): Promise<void>;
}

/**
 * Shows a question in the other chats of its session, once each, no matter how often it is called. Throws only
 * `StoreError`.
 */
export type MirrorQuestion = (asked: {
  turnId: string;
  surfaces: readonly OtherSurface[];
  message: InboundMessage;
}) => Promise<void>;

/** The button under an answer in progress. */
export function stopButton(turnId: string, say: Say): Button {
  return { label: say('button.stop'), value: `turn-stop:${turnId}` };
}

/** The button under the card of a background subagent. */
export function agentStopButton(agentId: string, say: Say): Button {
  return { label: say('button.stop'), value: `agent-stop:${agentId}` };
}

/** The subagent that a button stops; undefined for any other button. */
export function readAgentButton(value: string): string | undefined {
  return /^agent-stop:(agent-[0-9a-f-]{1,50})$/.exec(value)?.[1];
}

/** The button under a complete answer. */
export function regenerateButton(turnId: string, say: Say): Button {
  return { label: say('button.regenerate'), value: `turn-again:${turnId}` };
}

/** What a button under an answer asks for; undefined for any other button. */
export function readTurnButton(value: string): { action: 'stop' | 'again'; turnId: string } | undefined {
  const [, action, turnId] = /^turn-(stop|again):([\w-]{1,50})$/.exec(value) ?? [];
  if (turnId === undefined) return undefined;
  return { action: action === 'stop' ? 'stop' : 'again', turnId };
}

/** The tool that sends messages during a turn. */
export const MESSAGE_TOOL = 'message';
/** The tool that sends files during a turn. */
export const SEND_FILE_TOOL = 'send_file';
/** Messages and files that one turn may send with them. */
export const MAX_POSTS = 10;
/** Longest text of one of them, in UTF-16 units. */
export const MAX_POST_CHARS = 4_000;

export interface PostRequest {
  /** Key of the tool call: the same at each attempt, so that the message is sent once. */
  ref: string;
  turnId: string;
  address: Address;
  /** The session of that address, when it is not the turn's: `FindChat` has found it for this person. */
  session?: SessionKey | undefined;
  /** With a file, its caption. */
  content: string;
  /** Kept in the session's folder `folder`. */
  file?: Attachment | undefined;
  folder?: string | undefined;
}

export type PostResult =
  /** Stored among the session's messages and queued for the platform. */
  | { kind: 'posted'; seq: number }
  | { kind: 'known' }
  | { kind: 'full'; limit: number }
  /** The address does not belong to the session, or no longer does. */
  | { kind: 'foreign' }
  /** Its chat accepts no files, or none as large; `limit` in bytes. */
  | { kind: 'no_files' }
  | { kind: 'too_large'; limit: number };

/** What a model requests when it wants to notify a person elsewhere. */
export interface AskedChat {
  to: string;
  session: SessionKey;
  address: Address;
  /** Whom it answers; `system` if no one wrote. */
  userId: string;
  /** Set if chats of other people may be named, too, which only owners do: where the names of others may be listed. */
  others?: 'private' | 'group' | undefined;
}

/** A chat in which someone has written to the bot, as people know it. */
export interface Contact {
  address: Address;
  place: InboundMessage['place'];
  /** Who writes there in private, as a user id. */
  userId?: string | undefined;
  /** The person's name, or the group's; they choose it themselves. */
  name?: string | undefined;
}

/** Most contacts that one name finds, and that an answer lists. */
export const MAX_CONTACTS_FOUND = 10;

/** Throws only `StoreError`. */
export interface ContactStore {
  /** Stores the chat under its address without a thread. */
  noteContact(contact: Contact): Promise<void>;
  /** The contact at an address, or with a person's user id. */
  contact(id: string): Promise<Contact | undefined>;
  /**
   * Those with this name, or with a name that has this word; without a `name` all. By name, at most
   * `MAX_CONTACTS_FOUND`.
   */
  contacts(name?: string): Promise<Contact[]>;
}

/** A chat of other people. */
export interface OtherChat extends Omit<Contact, 'address'> {
  /** For people: `Telegram (private chat with Anna)`. */
  label: TextRef;
}

export type FoundChat =
  | { kind: 'found'; address: Address; session: SessionKey; other?: OtherChat | undefined }
  /** The person has no known chat there; `others` are the known ones. */
  | { kind: 'none'; others: readonly Address[] }
  | { kind: 'several'; addresses: readonly Address[] }
  /** No chat of anyone has that name; `known` are some that have one, or undefined where others would read them. */
  | { kind: 'unknown'; known?: readonly string[] | undefined }
  /** Several have it, with their addresses; undefined where others would read them. */
  | { kind: 'ambiguous'; known?: readonly string[] | undefined }
  /** The person there may no longer use the bot. */
  | { kind: 'closed' }
  /** Not a chat of this conversation or this person, or one in which the person may not write. */
  | { kind: 'foreign' };

/**
 * Finds a chat that shares the conversation, the person's private chat there, or, if `others` is set, any chat the bot is
 * in, by its name or address. Throws only `StoreError`.
 */
export type FindChat = (asked: AskedChat) => Promise<FoundChat>;

/** Commits a message and starts its delivery. Throws only `StoreError`. */
export type Post = (request: PostRequest) => Promise<PostResult>;

/** A message that belongs to no turn, for a session over HTTP. `ref` makes a repeated one a no-op. */
export interface NoticeRequest {
  ref: string;
  address: Address;
  content: string;
}

export type NoticeResult = { kind: 'posted'; session: SessionKey; seq: number } | { kind: 'known' };

/** Throws only `StoreError`. */
export interface PostStore {
  /**
   * Stores the notice among the session's messages, which delivers it, and creates the session if necessary. The model
   * does not read it.
   */
  notice(request: NoticeRequest): Promise<NoticeResult>;
  /** Stores the message and queues its delivery in one statement; over HTTP the stored message is the delivery. */
  post(request: PostRequest, limit: number, node?: string): Promise<PostResult & LaneStep>;
}

/** Limit of one place. Places with the same `key` share it. */
export interface PlaceRate {
  key: string;
  /** Minimum time between edits of growing answers, in milliseconds, in which also one call of `burst` returns. */
  editIntervalMs: number;
  /** Calls at once after a quiet time. Edits use none of them: first messages and finals do. */
  burst: number;
  /** How many of `burst`, and of `window`, only finals may use. */
  reserved: number;
  /** At most this many calls in any time span of this length, if the platform counts that way. */
  window?: { calls: number; ms: number } | undefined;
  /** False for calls that the platform does not count against the bot, such as Discord's replies to interactions. */
  countsForBot: boolean;
}

/** Limits of one bot. */
export interface RateLimits {
  /**
   * Calls per second over all places: at first, after two seconds if calls wait and none is refused, and the most that
   * the scheduler may learn.
   */
  callsPerSecond: { start: number; usual?: number | undefined; most: number };
  /**
   * The capacity of the bucket in which the platform counts the bot's calls, if it does. Calls refill one by one, and a
   * refusal tells the wait for the next one. Undefined: counted per second.
   */
  bucket?: number | undefined;
  /** Pure: the limit of calls to a place. `first` is the first message of the answer, if it is already on screen. */
  of(place: Place, first: SentMessage | undefined): PlaceRate;
  /** Pure: the limit of reactions, if the platform counts them separately; default: that of a message there. */
  ofReactions?(place: Place): PlaceRate;
}

/** Limits of a platform whose chats are all alike: one call per interval each, and a final at any time. */
export function steadyRates(options: { callsPerSecond: number; editIntervalMs: number }): RateLimits {
  const { callsPerSecond, editIntervalMs } = options;
  return {
    callsPerSecond: { start: callsPerSecond, most: callsPerSecond },
    of: ({ chatId }) => ({ key: chatId, editIntervalMs, burst: 2, reserved: 1, countsForBot: true }),
  };
}
