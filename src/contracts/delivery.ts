/** The live message of a turn, as the agent sees it, messages in the middle of a turn, and how often a platform may be called. */
import type { NotedParts } from './store/ledger.ts';
import type { LiveCounts } from './store/traces.ts';
import type { LaneStep } from './store/lanes.ts';
import type { Attachment } from './media.ts';
import type { Address, InboundMessage, Place, SentMessage } from './message.ts';
import type { Plan } from './plan.ts';

/** A message of a person on its platform. */
export interface AskedQuestion extends Place {
  messageId: string;
  place: InboundMessage['place'];
}

/** What a live message needs to know of its turn. */
export interface LiveTurnStart {
  turnId: string;
  address: Address;
  replyTo?: string | undefined;
  /** What is answered, where it is a message that can show signs. */
  question?: AskedQuestion | undefined;
  /** Parts already on screen: from before a crash, or a deferred reply. */
  placeholders: SentMessage[];
  /** Another process held the turn before, and a last call of it may still reach the platform: what is shown is not certain. */
  takenOver?: boolean;
  /** Text from before a crash. */
  textSoFar: string;
  /** T5: stores the platform ids of the parts of `ref` (the turn, the card of its plan) before they are used further. */
  note: (ref: string, sent: SentMessage[]) => Promise<NotedParts>;
  /** The current plan of the turn: its card may be on screen from before a crash. */
  plan?: Plan | undefined;
}

export interface LiveTurn {
  /**
   * Ends the live message: accepts no more text, waits for the call in flight, ends typing. After it resolves, only the
   * final delivery of this turn is still sent to the platform. Gives the calls it has made; undefined when it makes none.
   * Never throws; waits at most 10 s.
   */
  settle(): Promise<LiveCounts | undefined>;
}

/** Shows a turn's events as a live message. Channels without `edit` get typing only. Never throws. */
export interface LiveMessages {
  open(start: LiveTurnStart): LiveTurn;
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
  /** An address of the session. */
  address: Address;
  /** With a file, its caption. */
  content: string;
  /** Kept in the session's folder `folder`. */
  file?: Attachment | undefined;
  folder?: string | undefined;
}

export type PostResult =
  /** Stored among the session's messages and queued for the platform. */
  | { kind: 'posted'; seq: number }
  /** The same call has sent it before. */
  | { kind: 'known' }
  /** The turn has sent the maximum of messages. */
  | { kind: 'full'; limit: number }
  /** The address is not the session's. */
  | { kind: 'foreign' }
  /** Its chat takes no files, or none as large; `limit` in bytes. */
  | { kind: 'no_files' }
  | { kind: 'too_large'; limit: number };

/** Commits a message and starts its delivery. Throws only `StoreError`. */
export type Post = (request: PostRequest) => Promise<PostResult>;

/** Throws only `StoreError`. */
export interface PostStore {
  /** Stores the message and queues its delivery in one statement; over HTTP the stored message is the delivery. */
  post(request: PostRequest, limit: number, node?: string): Promise<PostResult & LaneStep>;
}

/** Limit of one place. Places with the same `key` share it. */
export interface PlaceRate {
  key: string;
  /** Least time between two edits of growing answers, in milliseconds; also the time in which one call of `burst` comes back. */
  editIntervalMs: number;
  /** Calls at once after a quiet time. Edits use none of them: first messages and finals do. */
  burst: number;
  /** How many of `burst`, and of `window`, only finals may use. */
  reserved: number;
  /** At most so many calls in any time of this length, where the platform counts like that. */
  window?: { calls: number; ms: number } | undefined;
  /** False for calls that the platform does not count against the bot, such as Discord's replies to interactions. */
  countsForBot: boolean;
}

/** Limits of one bot. */
export interface RateLimits {
  /** Calls a second over all places: at first, and the most that the scheduler may learn. */
  callsPerSecond: { start: number; most: number };
  /** Pure: the limit of calls to a place. `first` is the first message of the answer, where it is on screen already. */
  of(place: Place, first: SentMessage | undefined): PlaceRate;
}

/** Limits of a platform whose chats are all alike: one call per interval each, and a final at any time. */
export function steadyRates(options: { callsPerSecond: number; editIntervalMs: number }): RateLimits {
  const { callsPerSecond, editIntervalMs } = options;
  return {
    callsPerSecond: { start: callsPerSecond, most: callsPerSecond },
    of: ({ chatId }) => ({ key: chatId, editIntervalMs, burst: 2, reserved: 1, countsForBot: true }),
  };
}
