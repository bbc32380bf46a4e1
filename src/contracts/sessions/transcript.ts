/** A session as a file: for people in Markdown, for programs in JSON. Written piece by piece, regardless of length. */
import { oneLine } from '../../lib/text.ts';
import { GatewayError } from '../errors.ts';
import type { MessageRecord, SessionRecord } from '../store/records.ts';

/** Markdown for people, JSON for programs. */
const TRANSCRIPT_FORMATS = ['md', 'json'] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** The newest `limit` messages of the session before `before`, ascending; undefined when the session is gone. */
export type ReadMessages = (page: { limit: number; before: number }) => Promise<MessageRecord[] | undefined>;

/** Messages read at a time. */
export const TRANSCRIPT_PAGE = 200;

/** The format of that name. Throws `GatewayError('usage')`. */
export function readFormat(name: string): TranscriptFormat {
  const format = TRANSCRIPT_FORMATS.find((known) => known === name);
  if (format !== undefined) return format;
  throw new GatewayError('usage', `There is no format "${oneLine(name).slice(0, 40)}": use md or json.`);
}

/** The session with its messages, in pieces. Files of messages are named, not included. Throws what `read` throws. */
export async function* transcriptOf(
  session: SessionRecord,
  read: ReadMessages,
  format: TranscriptFormat,
): AsyncGenerator<string> {
  yield format === 'md' ? mdHead(session) : jsonHead(session);
  let first = true;
  for await (const message of messagesOf(read, session)) {
    yield format === 'md' ? mdMessage(message) : `${first ? '' : ','}\n    ${JSON.stringify(plain(message))}`;
    first = false;
  }
  if (format === 'json') yield '\n  ]\n}\n';
}

/** All messages that the session had when it was read, ascending. */
async function* messagesOf(
  read: ReadMessages,
  { messageCount }: SessionRecord,
): AsyncGenerator<MessageRecord> {
  let last = 0;
  for (let from = 1; from <= messageCount; from += TRANSCRIPT_PAGE) {
    for (const message of (await read({ limit: TRANSCRIPT_PAGE, before: from + TRANSCRIPT_PAGE })) ?? []) {
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
