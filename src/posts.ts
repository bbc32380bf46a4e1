/** Messages that the agent sends in the middle of a turn, apart from its answer: what is asked and what comes of it. */
import type { LaneStep } from './lanes.ts';
import type { Address } from './message.ts';

/** The tool that sends them. */
export const MESSAGE_TOOL = 'message';
/** Messages of one turn. */
export const MAX_POSTS = 10;
/** Longest one, in UTF-16 units. */
export const MAX_POST_CHARS = 4_000;

export interface PostRequest {
  /** The call that sends it: the same at each attempt, and the message is sent once. */
  ref: string;
  turnId: string;
  /** One of the session's own. */
  address: Address;
  content: string;
}

export type PostResult =
  /** It is among the session's messages, and on its way to the platform. */
  | { kind: 'posted'; seq: number }
  /** The same call has sent it before. */
  | { kind: 'known' }
  /** The turn has sent so many. */
  | { kind: 'full'; limit: number }
  /** The address is not the session's. */
  | { kind: 'foreign' };

/** Commits a message and lets it go. Throws only `StoreError`. */
export type Post = (request: PostRequest) => Promise<PostResult>;

/** Throws only `StoreError`. */
export interface PostStore {
  /** Among the session's messages and in its `out:` lane, in one statement; over HTTP the stored message is the delivery. */
  post(request: PostRequest, limit: number, node?: string): Promise<PostResult & LaneStep>;
}
