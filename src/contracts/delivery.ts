/** A reply that grows on screen while its turn runs, as the agent sees it. */
import type { LaneStep } from './lanes.ts';
import type { Address, SentMessage } from './message.ts';
import type { Plan } from './plan.ts';

/** The turn of a growing reply. */
export interface LiveTurnStart {
  turnId: string;
  address: Address;
  replyTo?: string | undefined;
  /** Parts already on screen from before a crash, or a deferred reply to grow in. */
  placeholders: SentMessage[];
  /** Text of the answer from before a crash. */
  textSoFar: string;
  /** T5: stores the platform ids of the parts before anything is built on them. */
  note(sent: SentMessage[]): Promise<void>;
  /** The turn's own plan: a card of it may be on screen from before a crash. */
  plan?: Plan | undefined;
  /** As `note`, for the card of the turn's plan. */
  noteCard(ref: string, sent: SentMessage[]): Promise<void>;
}

export interface LiveTurn {
  /**
   * Ends live updates: accepts no more text, waits for the call in flight, ends typing. After it resolves nothing of
   * this turn is still being sent to the platform except the final delivery. Never throws; waits at most 10 s.
   */
  settle(): Promise<void>;
}

/** Follows a turn's events on the event bus and shows them. Channels without `edit` get typing only. Never throws. */
export interface LiveMessages {
  open(start: LiveTurnStart): LiveTurn;
}

/** Name of the tool that sends messages in the middle of a turn. */
export const MESSAGE_TOOL = 'message';
/** Messages that one turn may send with it. */
export const MAX_POSTS = 10;
/** Longest of them, in UTF-16 units. */
export const MAX_POST_CHARS = 4_000;

export interface PostRequest {
  /** Id of the tool call, the same at each attempt: the message is sent once. */
  ref: string;
  turnId: string;
  /** One of the session's own. */
  address: Address;
  content: string;
}

export type PostResult =
  /** It is stored among the session's messages, and its delivery has begun. */
  | { kind: 'posted'; seq: number }
  /** The same call has sent it before. */
  | { kind: 'known' }
  /** The turn has sent as many as it may. */
  | { kind: 'full'; limit: number }
  /** The address is not the session's. */
  | { kind: 'foreign' };

/** Commits a message and starts its delivery. Throws only `StoreError`. */
export type Post = (request: PostRequest) => Promise<PostResult>;

/** Throws only `StoreError`. */
export interface PostStore {
  /** Stores it among the session's messages and in its `out:` lane, in one statement; over HTTP the stored message is the delivery. */
  post(request: PostRequest, limit: number, node?: string): Promise<PostResult & LaneStep>;
}
