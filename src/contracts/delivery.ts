/** The live message of a turn, as the agent sees it, and messages in the middle of a turn. */
import type { LaneStep } from './lanes.ts';
import type { Address, SentMessage } from './message.ts';
import type { Plan } from './plan.ts';

/** What a live message needs to know of its turn. */
export interface LiveTurnStart {
  turnId: string;
  address: Address;
  replyTo?: string | undefined;
  /** Parts already on screen: from before a crash, or a deferred reply. */
  placeholders: SentMessage[];
  /** Text from before a crash. */
  textSoFar: string;
  /** T5: stores the platform ids of the parts before they are used further. */
  note(sent: SentMessage[]): Promise<void>;
  /** The current plan of the turn: its card may be on screen from before a crash. */
  plan?: Plan | undefined;
  /** As `note`, for the card of the turn's plan. */
  noteCard(ref: string, sent: SentMessage[]): Promise<void>;
}

export interface LiveTurn {
  /**
   * Ends the live message: accepts no more text, waits for the call in flight, ends typing. After it resolves, only the
   * final delivery of this turn is still sent to the platform. Never throws; waits at most 10 s.
   */
  settle(): Promise<void>;
}

/** Shows a turn's events as a live message. Channels without `edit` get typing only. Never throws. */
export interface LiveMessages {
  open(start: LiveTurnStart): LiveTurn;
}

/** The tool that sends messages during a turn. */
export const MESSAGE_TOOL = 'message';
/** Messages that one turn may send with it. */
export const MAX_POSTS = 10;
/** Longest of them, in UTF-16 units. */
export const MAX_POST_CHARS = 4_000;

export interface PostRequest {
  /** Key of the tool call: the same at each attempt, so that the message is sent once. */
  ref: string;
  turnId: string;
  /** An address of the session. */
  address: Address;
  content: string;
}

export type PostResult =
  /** Stored among the session's messages and queued for the platform. */
  | { kind: 'posted'; seq: number }
  /** The same call has sent it before. */
  | { kind: 'known' }
  /** The turn has sent the maximum of messages. */
  | { kind: 'full'; limit: number }
  /** The address is not the session's. */
  | { kind: 'foreign' };

/** Commits a message and starts its delivery. Throws only `StoreError`. */
export type Post = (request: PostRequest) => Promise<PostResult>;

/** Throws only `StoreError`. */
export interface PostStore {
  /** Stores the message and queues its delivery in one statement; over HTTP the stored message is the delivery. */
  post(request: PostRequest, limit: number, node?: string): Promise<PostResult & LaneStep>;
}
