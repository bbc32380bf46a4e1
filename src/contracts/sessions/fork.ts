/** Forks: a new session that starts as another one was at one of its messages. */
import type { SessionKey } from '../message.ts';
import type { SessionRecord } from '../store/records.ts';

/**
 * Turns that a fork copies: the newest ones before its message. Older ones are left out, and their number is reported.
 */
export const MAX_FORKED_TURNS = 1_000;

/** A request for a fork. */
export interface ForkRequest {
  source: SessionKey;
  /** The last message of the source that is copied; 0 = none of them. */
  seq: number;
  /** Copies what is before the turn of that message instead, no matter how many messages came in between. */
  before?: boolean | undefined;
  /** The new session: its key, owner, title, and the folder of its files. */
  key: SessionKey;
  folder: string;
  ownerTokenId: string;
  /** The user whose quota the copies of the files count toward. */
  userId: string;
  title: string | undefined;
}

/** A new session, and how much of the source it contains. */
export interface Fork {
  session: SessionRecord;
  /** Messages that were copied, and turns older than `MAX_FORKED_TURNS` that were not. */
  messages: number;
  leftBehind: number;
}

/** Throws only `StoreError`. */
export interface ForkStore {
  /**
   * Copies the settings of a session and its finished turns whose messages are all at or before `seq`, up to the first
   * one for which that is not true: their messages, and all that the model reads of them, with tool results and the
   * last summary. Approvals, plans, schedules, notes, traces and usage stay with the source. Nothing is run. Undefined
   * when the source is gone or has no such message. Safe to repeat.
   */
  fork(request: ForkRequest): Promise<Fork | undefined>;
  /** Records a folder whose fork was not made as removed, with the files of it that nodes share. */
  discardFolder(folder: string): Promise<void>;
}
