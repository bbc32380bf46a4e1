/** A session as a file: for people in Markdown, for programs in JSON. Written piece by piece, regardless of length. */
import { oneLine } from '../../lib/text.ts';
import { GatewayError } from '../errors.ts';
import type { ContextReset } from '../store/contexts.ts';
import type { MessageRecord, SessionRecord } from '../store/records.ts';

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
  const format = TRANSCRIPT_FORMATS.find((known) => known === name);
  if (format !== undefined) return format;
  throw new GatewayError('usage', `There is no format "${oneLine(name).slice(0, 40)}": use md or json.`);
}

/**
 * The session with its messages, and where `/new` began new conversations, in pieces. Files of messages are named, not
 * included. Throws what the source throws.
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
  const below = files.length === 0 ? '' : `\n${files.join('\n')}\n`;
  return `\n## ${oneLine(who)}, ${createdAt.toISOString()}\n\n${content.trimEnd()}\n${below}`;
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
