/** Reads one document into passages. Whatever is wrong with it becomes its problem, in words. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Egress } from '../protocol/agent/tool.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { storedText, textRef, type TextRef } from '../protocol/texts/say.ts';
import { MAX_DOCUMENT_PASSAGES, type NewPassage, type ReadDocument } from '../protocol/knowledge.ts';
import type { DocumentText } from '../protocol/media.ts';
import { passagesIn, type DocumentKind } from './chunks.ts';

/** What reads files and pages; each may be hostile. */
export interface DocumentReaders {
  /** The text of a PDF, an office document, or a plain text in any character set. */
  documentText: DocumentText;
  /** The title and text of an HTML page, as Markdown. Throws `GatewayError`. */
  readPage: (
    page: { body: Buffer; contentType: string; url: string },
    signal: AbortSignal,
  ) => Promise<{ title: string; text: string }>;
  /** Fetches public addresses. */
  egress: Egress;
}

/** The bytes of a document, and what is known of them. */
export interface LoadedDocument {
  name: string;
  title: string;
  bytes: Buffer;
  mark?: string | undefined;
  /** As the server called it; '' for a file. */
  contentType: string;
  /** Of a page. */
  url?: string | undefined;
}

/** Passages after which others get the thread. */
const PASSAGES_AT_ONCE = 20;

/** SHA-256 of the bytes, hexadecimal. */
export function versionOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Reads it. Throws only the signal's reason. */
export async function readDocument(
  readers: DocumentReaders,
  loaded: LoadedDocument,
  signal: AbortSignal,
): Promise<ReadDocument> {
  const { name, title, bytes, mark } = loaded;
  const document = { name, title, version: versionOf(bytes), bytes: bytes.length, mark };
  try {
    const { text: whole, kind } = await textOf(readers, loaded, signal);
    const { text, notice: unread } = withoutMark(whole);
    const { passages, more } = await cut(text, kind, signal);
    if (passages.length === 0)
      return { ...document, problem: storedText(textRef('knowledge.no_text')), passages };
    const limit = textRef('knowledge.first_passages', { most: MAX_DOCUMENT_PASSAGES });
    const notices = [...(unread === undefined ? [] : [unread]), ...(more ? [limit] : [])].map(storedText);
    return { ...document, title: kind.title, notice: notices.join('\n') || undefined, passages };
  } catch (error) {
    signal.throwIfAborted();
    return { ...document, problem: problemOf(error), passages: [] };
  }
}

/** The last line of a text that its reader has cut. */
const CUT_MARK = /\n+\[only the first (\d+) (?:characters|of (\d+) pages) were read\]$/;

/** The text without what its reader says of it, which becomes a notice. */
function withoutMark(text: string): { text: string; notice?: TextRef } {
  const [mark, most = '', count] = CUT_MARK.exec(text.slice(-100)) ?? [];
  if (mark === undefined) return { text };
  const notice =
    count === undefined
      ? textRef('knowledge.first_characters', { most })
      : textRef('knowledge.first_pages', { most, pages: count });
  return { text: text.slice(0, -mark.length), notice };
}

/** Why a document or its source cannot be read, for `wordProblem`. */
export function problemOf(error: unknown): string {
  const { message, textRef: ref } = toGatewayError(error);
  if (ref?.key.startsWith('knowledge.') === true) return storedText(ref);
  const sentence = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

async function cut(
  text: string,
  kind: DocumentKind,
  signal: AbortSignal,
): Promise<{ passages: NewPassage[]; more: boolean }> {
  const passages: NewPassage[] = [];
  for (const passage of passagesIn(text, kind)) {
    if (passages.length === MAX_DOCUMENT_PASSAGES) return { passages, more: true };
    passages.push(passage);
    if (passages.length % PASSAGES_AT_ONCE === 0) {
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  return { passages, more: false };
}

const HTML_NAME = /\.x?html?$/i;
const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)/;
const MARKDOWN_NAME = /\.(?:md|markdown|mdx|mkd)$/i;

/** First bytes tell a document, whatever its name. */
async function textOf(
  { documentText, readPage }: DocumentReaders,
  { name, title, bytes, contentType, url }: LoadedDocument,
  signal: AbortSignal,
): Promise<{ text: string; kind: DocumentKind }> {
  const isPdf = bytes.subarray(0, 1_024).includes('%PDF-');
  const isArchive = bytes.subarray(0, 4).equals(ARCHIVE);
  const plain = { title, headings: false, lines: false, marks: false };
  if (isPdf || isArchive) return { text: await documentText(bytes, signal), kind: { ...plain, marks: true } };
  if (HTML_TYPE.test(contentType) || (contentType === '' && HTML_NAME.test(name))) {
    const page = await readPage(
      { body: bytes, contentType, url: url ?? `file:///${encodeURI(name)}` },
      signal,
    );
    return { text: page.text, kind: { ...plain, title: page.title || title, headings: true } };
  }
  if (contentType !== '' && !/^text\/|[/+](json|xml|yaml|javascript)|octet-stream/.test(contentType))
    throw new GatewayError('no_text', textRef('knowledge.wrong_type', { type: contentType }));
  const isMarkdown = MARKDOWN_NAME.test(name) || contentType.startsWith('text/markdown');
  const text = await documentText(bytes, signal);
  return { text, kind: { ...plain, headings: isMarkdown, lines: true } };
}

/** As which .docx and .xlsx are stored. */
const ARCHIVE = Buffer.from('PK\u0003\u0004', 'latin1');
