/** Sessions as people choose among them: listed with what distinguishes them, searched, marked. */
import { z } from 'zod';
import { type MessageRecord, sessionMarks, type SessionRecord, type TurnFailure } from '../store/records.ts';
import type { SessionKey } from '../message.ts';
import { oneLine } from '../../lib/text.ts';
import { GatewayError } from '../errors.ts';
import type { ContextReset } from '../store/accept.ts';
import type { ToolCall, Usage } from '../agent/provider.ts';
import { textRef } from '../texts/say.ts';

/** Pinned sessions at the top of a list; further ones are sorted by time. */
export const MAX_PINNED = 50;
/** Longest search text, in UTF-16 units; the rest is ignored. */
export const MAX_SEARCHED_CHARS = 200;
/** Matching messages that one search examines; beyond that, some of the oldest are missing. */
export const MAX_MATCHES = 2_000;
/** Searches that one caller may have running at once. */
export const MAX_SEARCHES_AT_ONCE = 2;
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
  preview: string;
  state: SessionState;
  /** Messages behind the running turn. */
  queued: number;
  /** Messages after the last one read on the page. */
  unread: number;
  ownerName?: string | undefined;
}

/** What a client may change of a session; a field that is left out stays. */
export const sessionChange = z.strictObject({
  profileId: z.string().min(1).optional(),
  /** null = the profile's model. */
  model: z.string().min(1).nullable().optional(),
  mode: z.string().optional(),
  /** How messages that arrive during a turn are handled. */
  queueMode: z.string().optional(),
  ...z.object(sessionMarks).partial().shape,
  /** The last message that was read. */
  readSeq: z.int().min(0).max(2_147_483_647).optional(),
  /** null = none; the next answer generates a new one. */
  title: z.string().nullable().optional(),
});
export type SessionChange = z.output<typeof sessionChange>;

/** Which sessions; the first page begins with those that are marked for it. */
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

/** Markdown for people, JSON for programs. */
const TRANSCRIPT_FORMATS = ['md', 'json'] as const;

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** Reads what a transcript consists of; undefined when the session is gone. */
export interface TranscriptSource {
  /** The newest `limit` messages of the session before `before`, ascending. */
  messages(page: { limit: number; before: number }): Promise<MessageRecord[] | undefined>;
  /** Where `/new` began new conversations, behind the messages from number `from` on, ascending. */
  resets(span: { from: number }): Promise<ContextReset[] | undefined>;
}

/** Messages read at a time. */
export const TRANSCRIPT_PAGE = 200;

/** The format of that name. Throws `GatewayError('usage')`. */
export function readFormat(name: string): TranscriptFormat {
  const format = TRANSCRIPT_FORMATS.find((one) => one === name);
  if (format !== undefined) return format;
  throw new GatewayError('usage', `There is no format "${oneLine(name).slice(0, 40)}": use md or json.`);
}

/**
 * The session with its messages and the places of `/new`, in pieces. Files are named, not included. Throws what the source
 * throws.
 */
export async function* transcriptOf(
  session: SessionRecord,
  source: TranscriptSource,
  format: TranscriptFormat,
): AsyncGenerator<string> {
  const resets = (await source.resets({ from: 1 })) ?? [];
  yield* format === 'md' ? asMarkdown(session, source, resets) : asJson(session, source, resets);
}

async function* asMarkdown(
  session: SessionRecord,
  source: TranscriptSource,
  resets: readonly ContextReset[],
): AsyncGenerator<string> {
  yield mdHead(session);
  let next = 0;
  for await (const message of messagesOf(source, session)) {
    for (; (resets[next]?.after ?? Infinity) < message.seq; next += 1) yield mdReset(resets[next]);
    yield mdMessage(message);
  }
  for (; next < resets.length; next += 1) yield mdReset(resets[next]);
}

async function* asJson(
  session: SessionRecord,
  source: TranscriptSource,
  resets: readonly ContextReset[],
): AsyncGenerator<string> {
  yield jsonHead(session);
  let comma = '';
  for await (const message of messagesOf(source, session)) {
    yield `${comma}\n    ${JSON.stringify(plain(message))}`;
    comma = ',';
  }
  yield `\n  ],\n  "resets": ${JSON.stringify(resets)}\n}\n`;
}

/** All messages that the session had when it was read, ascending. */
async function* messagesOf(
  source: TranscriptSource,
  { messageCount }: SessionRecord,
): AsyncGenerator<MessageRecord> {
  let last = 0;
  for (let from = 1; from <= messageCount; from += TRANSCRIPT_PAGE) {
    for (const message of (await source.messages({
      limit: TRANSCRIPT_PAGE,
      before: from + TRANSCRIPT_PAGE,
    })) ?? []) {
      // A page reaches further back if numbers are missing.
      if (message.seq <= last || message.seq > messageCount) continue;
      last = message.seq;
      yield message;
    }
  }
}

function mdHead({ key, title, createdAt }: SessionRecord): string {
  return `# ${oneLine(title ?? key)}\n\nSession \`${key}\`, begun ${createdAt.toISOString()}\n`;
}

function mdReset(reset: ContextReset | undefined): string {
  return reset === undefined ? '' : `\n---\n\n*New conversation, ${reset.at.toISOString()}*\n`;
}

function mdMessage({ role, senderName, content, createdAt, attachments = [] }: MessageRecord): string {
  const who = role === 'user' ? (senderName ?? 'User') : role === 'assistant' ? 'Assistant' : 'System';
  const files = attachments.map(
    ({ name, file, bytes }) => `- ${oneLine(name)} (\`${file}\`, ${bytes} bytes)`,
  );
  const fileLines = files.length === 0 ? '' : `\n${files.join('\n')}\n`;
  return `\n## ${oneLine(who)}, ${createdAt.toISOString()}\n\n${withoutHeads(content.trimEnd())}\n${fileLines}`;
}

/** A line of a message that looks like the head of another one is marked as text. */
function withoutHeads(content: string): string {
  return content.replaceAll(/^(?=(?:## .*\d{4}-\d\d-\d\dT|\*New conversation, ))/gm, '\\');
}

function jsonHead(session: SessionRecord): string {
  const { key, title = null, profileId, model = null, mode, createdAt, updatedAt } = session;
  const head = JSON.stringify({ key, title, profileId, model, mode, createdAt, updatedAt });
  return `{\n  "session": ${head},\n  "messages": [`;
}

function plain(message: MessageRecord) {
  const { seq, turnId, role, senderName = null, content, isPlan, isError, attachments = [] } = message;
  const { createdAt } = message;
  return { seq, turnId, role, senderName, content, isPlan, isError, attachments, createdAt };
}

/** The state of a turn, with its final message once it is done. */
export interface TurnStatus {
  state: 'queued' | 'running' | 'parked' | 'done';
  reason?: string | undefined;
  failure?: TurnFailure | undefined;
  final?: MessageRecord | undefined;
  /** Sum of all model calls of a finished turn; undefined when there were none. */
  usage?: Usage | undefined;
  /** Set while it waits for its caller's tools. */
  waitsFor?: WaitingCalls | undefined;
}

/** Calls of tools that a turn's caller runs, with the turn's text and usage up to them. */
export interface WaitingCalls {
  calls: ToolCall[];
  text: string;
  usage: Usage;
}

/** Longest title, in UTF-16 units. */
export const MAX_TITLE_CHARS = 80;

/** A title that a person wrote, on one line. Throws `GatewayError('bad_title')` for one that is empty or too long. */
export function readTitle(text: string): string {
  const title = oneLine(text);
  if (title !== '' && title.length <= MAX_TITLE_CHARS) return title;
  const { length } = title;
  throw new GatewayError(
    'bad_title',
    title === ''
      ? textRef('title.empty', { most: MAX_TITLE_CHARS })
      : textRef('title.too_long', { length, most: MAX_TITLE_CHARS }),
  );
}
