/** What the readers of other programs' folders yield, and how much of it is taken. */
import { z } from 'zod';
import { GatewayError } from '../../protocol/errors.ts';
import type { ForeignTurn } from '../../store/index.ts';
import type { ScheduleWhen } from '../../protocol/schedules.ts';
import { type SessionMarks, sessionMarks } from '../../protocol/store/records.ts';

/** Conversations of one import. */
export const MAX_CHATS = 5_000;
/** Turns of a conversation, the newest; older ones are counted and left out. */
export const MAX_CHAT_TURNS = 1_000;
/** Text of all those turns, in UTF-16 units. */
export const MAX_CHAT_CHARS = 8_000_000;
/** Longest message, in UTF-16 units: of a longer one, head and tail. */
export const MAX_MESSAGE_CHARS = 100_000;
/** Longest line of a JSONL file, in bytes; longer ones are counted and left out. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Largest file that is read as a whole, in bytes. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** Files of a skill, and their bytes together. */
export const MAX_SKILL_FILES = 100;
export const MAX_SKILL_BYTES = 2 * 1024 * 1024;
/** Skills of one import. */
export const MAX_SKILLS = 200;

/** A conversation with its newest turns. */
export interface ChatItem {
  kind: 'chat';
  /** Names it within its program, in every import. */
  id: string;
  title: string | undefined;
  turns: readonly ForeignTurn[];
  /** Number of older turns that are not among them. */
  olderTurns: number;
  /** What its people marked it with. */
  marks?: SessionMarks | undefined;
}

const marksSchema = z.object(sessionMarks);

/** The columns of other programs that have the names of a session's marks, of those that a table has. */
export function markColumns(columns: ReadonlySet<string>): string[] {
  return Object.keys(sessionMarks).filter((name) => columns.has(name));
}

/** The marks in a row; those that it lacks are off. */
export function marksIn(row: Readonly<Record<string, unknown>>): SessionMarks {
  const marks = Object.keys(sessionMarks).map((name) => [name, row[name] === 1]);
  return marksSchema.parse(Object.fromEntries(marks));
}

/** A fact about the person. */
export interface MemoryItem {
  kind: 'memory';
  text: string;
}

/** A task for set times. */
export interface ScheduleItem {
  kind: 'schedule';
  id: string;
  name: string;
  when: ScheduleWhen;
  task: string;
}

/** A skill: the files of its folder by their paths. */
export interface SkillItem {
  kind: 'skill';
  name: string;
  files: ReadonlyMap<string, Uint8Array>;
}

/** A file that every prompt contains. */
export interface PromptItem {
  kind: 'prompt';
  name: 'AGENTS.md' | 'SOUL.md' | 'USER.md' | 'TOOLS.md';
  text: string;
}

/** Something that cannot be imported; equal ones are counted in the report. */
export interface OmittedItem {
  kind: 'omitted';
  subject: string;
  reason: string;
}

export type ImportItem = ChatItem | MemoryItem | ScheduleItem | SkillItem | PromptItem | OmittedItem;

/** Reads another program's folder. Throws `GatewayError` for one that it cannot read at all. */
export type ReadItems = AsyncGenerator<ImportItem>;

/** Names what is left out, and why. */
export function omitted(subject: string, reason: string): OmittedItem {
  return { kind: 'omitted', subject, reason };
}

/** The items of one part of a folder; one that cannot be read is left out, and the others are read all the same. */
export async function* partOf(subject: string, items: ReadItems | Iterable<ImportItem>): ReadItems {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    yield omitted(subject, error.message);
  }
}
