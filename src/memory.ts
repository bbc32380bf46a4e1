/** What the agent remembers about a user across chats; never shown to, or searched by, anybody else. */
import type { SessionKey } from './message.ts';

/** Facts kept per user; the oldest goes first. */
export const MAX_MEMORIES = 200;
/** Longest fact, in UTF-16 units. */
export const MAX_MEMORY_CHARS = 1_000;

/** Who a memory belongs to: `telegram:42`, `discord:99`, `token:<id>`. */
export type UserId = string;

export interface MemoryRecord {
  id: number;
  text: string;
  /** The session it was learned in. */
  session: SessionKey;
  /** Learned in a turn that had read untrusted content (web pages, files, tool results). */
  untrusted: boolean;
  createdAt: Date;
}

/** What became of a fact that was to be kept. */
export interface Remembered {
  memory: MemoryRecord;
  /** False when it was known already. */
  isNew: boolean;
  /** Older facts that had to go. */
  dropped: number;
}

/** Throws only `StoreError`. */
export interface MemoryStore {
  /**
   * Keeps a fact; the same `key` again, or the same text of that user, changes nothing. Past `MAX_MEMORIES` the oldest
   * fact goes. Throws `StoreError('memory_too_long')` past `MAX_MEMORY_CHARS`.
   */
  remember(
    user: UserId,
    fact: { key: string; text: string; session: SessionKey; untrusted: boolean },
  ): Promise<Remembered>;
  /** The facts that match best (full text), best first. */
  searchMemory(user: UserId, query: string, limit: number): Promise<MemoryRecord[]>;
  /** What a turn about `said` should know: the facts that match it, best first, then the newest. */
  recall(user: UserId, said: string, limit: number): Promise<MemoryRecord[]>;
  /** The newest facts, newest first. */
  memories(user: UserId, limit: number): Promise<MemoryRecord[]>;
  /** Takes the mark `untrusted` from a fact: the user has said that it is right. False when there is no such fact. */
  verifyMemory(user: UserId, id: number): Promise<boolean>;
  /** Forgets one fact, or with `'all'` every fact of the user; gives how many. */
  forget(user: UserId, which: number | 'all'): Promise<number>;
}
