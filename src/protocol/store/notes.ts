/** The todo list of a session, filled from the agent's plan and updated while it works (N-27). */
import { oneLine } from '../../lib/text.ts';
import type { SessionKey } from '../message.ts';
import type { Source } from '../agent/risk.ts';

/** Most items in one list. */
export const MAX_TODOS = 50;

/** States of an item. */
export const TODO_STATUSES = ['pending', 'in_progress', 'done', 'failed', 'skipped'] as const;

export type TodoStatus = (typeof TODO_STATUSES)[number];

/** Longest text of an item, and longest validation, in UTF-16 units. */
export const MAX_TODO_CHARS = 280;

export interface Todo {
  text: string;
  status: TodoStatus;
  /** How it was checked that the item is done (N-38). */
  validation?: string | undefined;
  /** Sources of what was read before the item was written; absent = none. */
  sources?: readonly Source[] | undefined;
}

/** The items, which have no sources yet, with those that their turn had read. */
export function withSources(items: readonly Todo[], sources: readonly Source[]): readonly Todo[] {
  return sources.length === 0 ? items : items.map((item) => ({ ...item, sources }));
}

/** The lists of all sessions. Throws only `StoreError`; a repeated write changes nothing. */
export interface TodoStore {
  todos(session: SessionKey): Promise<Todo[]>;
  setTodos(session: SessionKey, items: readonly Todo[]): Promise<void>;
  /** Changes the item at `index` (from 0); returns the new list, undefined if there is no such item. */
  changeTodo(
    session: SessionKey,
    index: number,
    change: Pick<Todo, 'status' | 'validation'>,
  ): Promise<Todo[] | undefined>;
}

const LINE = /^\d+\. \[(pending|in_progress|done|failed|skipped)\] (.*)$/;

/** The list as the model reads it in the results of the tool `todo`: one line per item, `1. [pending] Buy bread`. */
export function writeTodos(items: readonly Todo[]): string {
  return items.map(({ text, status }, index) => `${index + 1}. [${status}] ${todoText(text)}`).join('\n');
}

/** Parses a list from a text that contains the output of `writeTodos`; validations are not in it. Never throws. */
export function readTodos(text: string): Todo[] {
  return text.split('\n').flatMap((line): Todo[] => {
    const [, status, text] = LINE.exec(line) ?? [];
    const todoStatus = TODO_STATUSES.find((one) => one === status);
    return todoStatus === undefined || text === undefined ? [] : [{ text, status: todoStatus }];
  });
}

/** Shortens a text for an item: one line, at most `MAX_TODO_CHARS`. */
export function todoText(text: string): string {
  const line = oneLine(text);
  return line.length <= MAX_TODO_CHARS ? line : `${line.slice(0, MAX_TODO_CHARS - 1).toWellFormed()}…`;
}

/** Most notes of one session. */
export const MAX_NOTES = 50;
/** Longest note, in UTF-16 units. */
export const MAX_NOTE_CHARS = 8_000;

/** A note, with the sources of what was read before it was written. */
export interface Note {
  text: string;
  sources: readonly Source[];
}

/** Throws only `StoreError`; a repeated write changes nothing. */
export interface ScratchpadStore {
  /** All notes by name, names ascending. */
  notes(session: SessionKey): Promise<ReadonlyMap<string, Note>>;
  /** Sets a note; undefined deletes it. False when the session already has `MAX_NOTES` others. */
  setNote(session: SessionKey, name: string, note: Note | undefined): Promise<boolean>;
}

/** Verified facts kept per user; the oldest is dropped first. */
export const MAX_MEMORIES = 200;
/** Unverified facts kept per user in addition; the oldest of these is dropped first, never a verified one. */
export const MAX_UNVERIFIED_MEMORIES = 20;
/** Unverified facts that one turn may save, including its subagents. */
export const MAX_UNVERIFIED_PER_TURN = 3;
/** Longest fact, in UTF-16 units. */
export const MAX_MEMORY_CHARS = 1_000;

/** Who a memory belongs to: `telegram:42`, `discord:99`, `token:<id>`. */
export type UserId = string;

export interface MemoryRecord {
  id: number;
  text: string;
  session: SessionKey;
  /** Learned in a turn that had read untrusted content (web pages, files, tool results). */
  untrusted: boolean;
  createdAt: Date;
}

/** Result of storing a fact. */
export interface Remembered {
  memory: MemoryRecord;
  /** False when it was already known. */
  isNew: boolean;
  /** Older facts of its kind (verified or not) that were deleted for it. */
  dropped: number;
}

/** A fact to store. */
export interface NewMemory {
  /** The same in every attempt of a call. The part before its first slash names the turn. */
  key: string;
  text: string;
  session: SessionKey;
  untrusted: boolean;
}

/** Throws only `StoreError`. */
export interface MemoryStore {
  /**
   * Stores a fact; a repeated `key` or text of that user changes nothing. Beyond `MAX_MEMORIES` (unverified ones:
   * `MAX_UNVERIFIED_MEMORIES`) the oldest of its kind is deleted. Throws `StoreError`: `memory_too_long`,
   * `too_many_memories` beyond `MAX_UNVERIFIED_PER_TURN`.
   */
  remember(user: UserId, fact: NewMemory): Promise<Remembered>;
  /** The facts that match best (full text), best first. */
  searchMemory(user: UserId, query: string, limit: number): Promise<MemoryRecord[]>;
  /** Facts for a turn about `said`: those that match it, best first, then the newest. */
  recall(user: UserId, said: string, limit: number): Promise<MemoryRecord[]>;
  memories(user: UserId, limit: number): Promise<MemoryRecord[]>;
  /** Removes the mark `untrusted` from a fact that the user confirmed. False when there is no such fact. */
  verifyMemory(user: UserId, id: number): Promise<boolean>;
  /** Deletes one fact, or with `'all'` every fact of the user; returns their number. */
  deleteMemories(user: UserId, which: number | 'all'): Promise<number>;
}

/** A direction, one byte per dimension: a cosine of two differs from that of the full vectors by less than 0.01. Empty = none. */
export type Vector = Int8Array;

interface MemoryVector {
  memory: MemoryRecord;
  vector: Vector;
}

/** One vector per fact, of the model that made it; deleted with its fact. Throws only `StoreError`. */
export interface MemoryVectorStore {
  /** The facts of a user that have a vector of this model. */
  vectorsOf(user: UserId, model: string): Promise<MemoryVector[]>;
  /** Facts of all users that have no vector of this model, newest first. */
  withoutVector(model: string, limit: number): Promise<{ id: number; text: string }[]>;
  /** Stores vectors, replacing those of other models; deleted facts are skipped. */
  setVectors(model: string, vectors: readonly { id: number; vector: Vector }[]): Promise<void>;
  /** Deletes the vectors of this model whose length differs from this; returns their number. */
  dropOtherLengths(model: string, length: number): Promise<number>;
}
