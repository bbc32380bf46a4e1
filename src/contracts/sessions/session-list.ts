/** Sessions as people choose among them: listed with what distinguishes them, searched, pinned, archived. */
import type { MessageRecord, SessionRecord } from '../store/records.ts';
import type { SessionKey } from '../message.ts';

/** Pinned sessions at the top of a list; further ones are sorted by time. */
export const MAX_PINNED = 50;
/** Longest search text, in UTF-16 units; the rest is ignored. */
export const MAX_SEARCHED_CHARS = 200;
/** Matching messages that one search examines; beyond that, some of the oldest are missing. */
export const MAX_MATCHES = 2_000;
/** Longest beginning of its first message that serves as the name of an untitled session, in UTF-16 units. */
export const MAX_PREVIEW = 100;
/** Characters of a message around what was found in it. */
export const SNIPPET_WORDS = 24;
/** Sessions that one request may delete. */
export const MAX_DELETED_AT_ONCE = 100;

/** What a session does: nothing, a turn, or wait for a person. */
export type SessionState = 'idle' | 'running' | 'waiting';

/** A session in a list. */
export interface ListedSession extends SessionRecord {
  /** The beginning of its first message. */
  preview: string;
  state: SessionState;
  /** Messages behind the running turn. */
  queued: number;
  /** Messages after the last one read on the page. */
  unread: number;
  /** Name of the token that made it; undefined for sessions of chats. */
  ownerName?: string | undefined;
}

/** Which sessions; pinned ones come first on the first page. */
export interface SessionListQuery {
  limit: number;
  ownerTokenId?: string | undefined;
  before?: Date | undefined;
  archived?: boolean | undefined;
}

/** A session found by its title or by a message. */
export interface FoundSession {
  key: SessionKey;
  title: string;
  ownerName?: string | undefined;
  updatedAt: Date;
  /** The newest message that matches, with the text around the words; undefined when only the title matches. */
  match?: (Pick<MessageRecord, 'seq' | 'role' | 'createdAt'> & { snippet: string }) | undefined;
}

/** Lists and searches. Throws only `StoreError`. */
export interface SessionListStore {
  listSessions(query: SessionListQuery): Promise<ListedSession[]>;
  /** By words of titles and messages, interpreted like a web search; those with the newest match first. */
  searchSessions(query: {
    text: string;
    limit: number;
    ownerTokenId?: string | undefined;
  }): Promise<{ found: FoundSession[]; more: boolean }>;
}
