/** The tool `web_fetch`: a public web page, or a document on the web, as readable text (B-22). */
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { defineTool, type Egress, type EgressResponse, type Tool } from '../protocol/agent/tool.ts';
import { GatewayError, ToolError } from '../protocol/errors.ts';
import type { DocumentText } from '../protocol/media.ts';
import { textRef } from '../protocol/texts/say.ts';
import { createFairQueue } from '../lib/async/fair-queue.ts';
import { TtlCache } from '../lib/ttl-cache.ts';

/** Longest part of a page in one answer, in UTF-16 units: with its markers, fits into what a model reads of a call. */
export const MAX_PART_CHARS = 12_000;

const parameters = z.strictObject({
  url: z.string().min(1).describe('An http or https address of the public internet.'),
  offset: z.int().min(0).default(0).describe('First character to read, for pages longer than a part.'),
});

/** Largest answer that is read, in bytes on the wire: a PDF is larger than a page. */
export const MAX_FETCHED_BYTES = 10 * 1024 * 1024;
/** Longest text kept of one page or document, in UTF-16 units. */
export const MAX_TEXT_CHARS = 400_000;

/** Pages that are kept for their next parts, and for how long after they were read, in milliseconds. */
export const MAX_HELD_PAGES = 16;
const HELD_MS = 30 * 60_000;

interface Page {
  text: string;
  /** After redirects. */
  url: string;
  status: number;
}

/** Time for one page, in milliseconds, from the moment its worker has loaded: it has one thread, so this bounds its CPU time. */
const MAX_PAGE_MS = 2_000;
/** Time for the worker to load, in milliseconds. */
const MAX_START_MS = 10_000;
/** Heap of one page's worker, in MiB. */
const MAX_PAGE_HEAP_MB = 64;
/** Pages processed at once, and how many may wait. */
const MAX_PAGES = 2;
const MAX_WAITING_PAGES = 32;
/** The readable part of a page; both may be empty. */
export interface PageText {
  title: string;
  text: string;
}
/** Throws `ToolError`: `unreadable_page`, `busy`; or the signal's reason. */
export type ReadPage = (
  page: Pick<EgressResponse, 'body' | 'contentType' | 'url'>,
  signal: AbortSignal,
) => Promise<PageText>;
/** What the worker posts: that it has loaded and begins, then the answer. */
export type WorkerMessage = 'loaded' | PageText;

const pages = createFairQueue(MAX_PAGES, MAX_WAITING_PAGES);

/** Makes the tool; `documentText` reads documents such as a PDF, `monotonicNow` is a clock in milliseconds. */
export function createWebFetch(
  egress: Egress,
  documentText: DocumentText,
  monotonicNow = (): number => performance.now(),
): Tool {
  const read = async (address: string, signal: AbortSignal): Promise<Page> => {
    const answer = await egress({ url: address, signal });
    const text = await readableText(answer, documentText, signal);
    return { text: cut(text), url: answer.url, status: answer.status };
  };
  const pageCache = new TtlCache<Page>(HELD_MS, MAX_HELD_PAGES, monotonicNow);
  return defineTool({
    name: 'web_fetch',
    description: `Read a public web page, or a PDF, .docx, .xlsx, JSON or text file on the web, as text, at most ${MAX_PART_CHARS} characters at a time.`,
    parameters,
    effect: 'pure',
    // An address can leak text of the chat to the owner of the server.
    risk: () => 'caution',
    results: 'web',
    // Further parts are never requested again: they come from the page that was read.
    reach: ({ url, offset }) => (offset > 0 ? 'session' : { address: url }),
    lasting: ({ url, offset }) =>
      offset > 0 ? undefined : textRef('lasting.request', { host: URL.parse(url)?.host ?? '?' }),
    async execute(args: z.infer<typeof parameters>, ctx) {
      const key = `${ctx.sessionKey} ${args.url}`;
      const page = args.offset > 0 ? pageCache.get(key) : await read(args.url, ctx.signal);
      if (page === undefined) {
        throw new ToolError('not_held', 'This page is no longer cached: read it again from offset 0.');
      }
      const { text, url, status } = page;
      const part = text.slice(args.offset, args.offset + MAX_PART_CHARS).toWellFormed();
      const next = args.offset + MAX_PART_CHARS;
      if (next < text.length) pageCache.set(key, page);
      const more =
        next < text.length ? `\n(${next} of ${text.length} characters; continue with "offset": ${next})` : '';
      const isError = status >= 400;
      const says = isError ? `The server answered with status ${status}.\n` : '';
      const nothing = text === '' ? '(an empty page)' : `(the page ends at character ${text.length})`;
      return { content: `${says}${part === '' ? nothing : part}${more}`, isError: isError, from: url };
    },
  });
}

/** The text cut to its limit, with a line that says so. */
function cut(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS).toWellFormed()}\n(only the first ${MAX_TEXT_CHARS} characters are read)`;
}

/** First bytes tell a document, whatever the server calls it; of text, the server's type tells whether it is a page. */
async function readableText(
  { body, contentType, url }: EgressResponse,
  documentText: DocumentText,
  signal: AbortSignal,
): Promise<string> {
  const type = contentType.split(';')[0]?.trim() ?? '';
  if (isDocument(body)) return await textOfDocument(body, type, documentText, signal);
  const isText = /^text\/|[/+](json|xml|yaml|javascript)$/.test(type);
  const isUnnamed = !isText && UNNAMED.has(type) && !body.includes(0);
  const isPage = PAGES.has(type) || (isUnnamed && PAGE_START.test(body.toString('latin1', 0, 1_024)));
  if (isPage) {
    const { title, text } = await pageText(decode(body, contentType), url, signal);
    return title === '' ? text : `# ${title}\n\n${text}`;
  }
  if (isText || isUnnamed) return decode(body, contentType);
  return notShown(type, body);
}

/** The title and the readable text of an HTML page, as Markdown. Throws as `web_fetch` does. */
export const readPage: ReadPage = ({ body, contentType, url }, signal) =>
  pageText(decode(body, contentType), url, signal);

const PAGES = new Set(['text/html', 'application/xhtml+xml']);
const PAGE_START = /^[^<]{0,100}<(?:!doctype html|html)[\s>]/i;
/** Types that say nothing about what a file is. */
const UNNAMED = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

/** A PDF, or an archive, as which .docx and .xlsx are stored. */
function isDocument(body: Buffer): boolean {
  return body.subarray(0, 1_024).includes('%PDF-') || body.subarray(0, 4).equals(ARCHIVE);
}

const ARCHIVE = Buffer.from('PK\u0003\u0004', 'latin1');

/** Read in a separate process: what strangers send may be crafted to break its reader. */
async function textOfDocument(
  body: Buffer,
  type: string,
  documentText: DocumentText,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await documentText(body, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError) || error.retryable) throw error;
    return notShown(type, body, error.message);
  }
}

function notShown(type: string, { length }: Buffer, reason?: string): string {
  const name = type === '' ? 'a file of unknown type' : type;
  return `(${name}, ${length} bytes: not shown${reason === undefined ? '' : `, because ${reason}`})`;
}

/** Decodes by the charset of the header, else of the page's first kilobyte, else UTF-8. */
function decode(body: Buffer, contentType: string): string {
  const inHeader = /charset="?([\w-]+)/.exec(contentType)?.[1];
  const inPage = /<meta[^>]{0,200}charset=["']?([\w-]+)/i.exec(body.toString('latin1', 0, 1_024))?.[1];
  return decoderFor(inHeader ?? inPage).decode(body);
}

function decoderFor(charset: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder('utf-8');
    throw error;
  }
}

/**
 * The title and text of untrusted HTML, read in a worker that is limited in time and memory. Throws `ToolError`:
 * `unreadable_page`, `busy`; or the signal's reason.
 */
async function pageText(html: string, url: string, signal: AbortSignal): Promise<PageText> {
  const leave = await pages.enter(url, signal);
  if (leave === undefined) throw new ToolError('busy', 'Too many pages are being read: try again later.');
  try {
    return await extract(html, url, signal);
  } finally {
    leave();
  }
}

async function extract(html: string, url: string, signal: AbortSignal): Promise<PageText> {
  const worker = new Worker(new URL('./page-text-worker.ts', import.meta.url), {
    workerData: { html, url },
    env: {},
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: MAX_PAGE_HEAP_MB,
      maxYoungGenerationSizeMb: 16,
      stackSizeMb: 4,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<PageText>();
  const unreadable = (cause?: unknown): void =>
    reject(new ToolError('unreadable_page', 'The page is too large or too tangled to be read.', { cause }));
  let limit = setTimeout(unreadable, MAX_START_MS);
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  worker.on('message', (message: WorkerMessage) => {
    if (message !== 'loaded') return resolve(message);
    clearTimeout(limit);
    limit = setTimeout(unreadable, MAX_PAGE_MS);
  });
  worker.once('error', unreadable);
  worker.once('exit', () => unreadable());
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}
