/** Everything of one person, on a network or over HTTP, for operators: found, exported, deleted. */
import type { SessionKey } from '../message.ts';

/** A person by the platform's id; over HTTP a token, or an end user that a token's client has named. */
export interface Person {
  channel: string;
  /** Over HTTP `token:<id>`. */
  id: string;
  /** What counts as the name of the end user in messages; absent = the token itself, with all its end users. */
  endUser?: string | undefined;
  /** The private chat with them, if the platform's ids reveal it. */
  privateChat?: string | undefined;
}

/** What the database has about a person. */
export interface PersonData {
  /** Sessions in which no one else writes: they are deleted whole. */
  sessions: SessionKey[];
  /** Sessions with others, in which only what the person wrote is theirs. */
  shared: SessionKey[];
  sharedMessages: number;
  memories: number;
  schedules: number;
  /** Rights to write, rights as an owner, and pending codes. */
  grants: number;
  files: number;
  responses: number;
  /** Documents that were given to their own chats. */
  documents: number;
  /** Usage rows, which are kept without their name. */
  usage: number;
}

/** A part of what a person wrote or had stored, as contained in an export. */
export type PersonRow =
  | { kind: 'message'; session: SessionKey; seq: number; content: string; createdAt: string }
  | { kind: 'memory'; session: SessionKey; content: string; createdAt: string }
  | { kind: 'schedule'; id: string; session: SessionKey; task: string; timing: unknown }
  | { kind: 'grant'; right: string; grantedAt: string }
  | { kind: 'file'; folder: string; path: string; bytes: number; keptAt: string }
  | { kind: 'response'; id: string; input: unknown; output: unknown; usedAt: string }
  | { kind: 'knowledge'; chat: string; document: string; position: number; content: string }
  | { kind: 'usage'; model: string; promptTokens: number; completionTokens: number; at: string };

/** Throws only `StoreError`. */
export interface PersonStore {
  person(person: Person): Promise<PersonData>;
  /** Up to `limit` rows of the kind after the first `after`, in a stable order. */
  personRows(
    person: Person,
    kind: PersonRow['kind'],
    page: { after: number; limit: number },
  ): Promise<PersonRow[]>;
  /**
   * Deletes what is theirs outside their own sessions, in one transaction; safe to repeat. Their texts in shared sessions
   * become `REMOVED_TEXT`, their files there are due for the next sweep (`fileDays`), and usage loses its name, including
   * that of `sessions`, which are deleted next.
   */
  forgetPerson(person: Person, more: { sessions: readonly SessionKey[]; fileDays: number }): Promise<void>;
}

/** Replaces a deleted person's text in sessions with others. */
export const REMOVED_TEXT = '(deleted)';
