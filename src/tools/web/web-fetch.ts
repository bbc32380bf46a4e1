/** The tool `web_fetch`: a public web page as readable text (B-22). */
import { z } from 'zod';
import type { Egress, EgressResponse } from '../../contracts/tool.ts';
import { ToolError } from '../../contracts/errors.ts';
import { defineTool } from '../../contracts/tool.ts';
import type { Tool } from '../../contracts/tool.ts';
import { pageText } from './page-text.ts';
import { Recent } from '../../lib/recent.ts';

/** Longest part of a page in one answer, in UTF-16 units: fits, with its marks, into what a model reads of a call. */
export const MAX_PART_CHARS = 12_000;

const parameters = z.strictObject({
  url: z.string().min(1).describe('An http or https address of the public internet.'),
  offset: z.int().min(0).default(0).describe('First character to read, for pages longer than a part.'),
});

/** Pages that are held for their next parts, and for how long after they were read, in milliseconds. */
export const MAX_HELD_PAGES = 16;
const HELD_MS = 30 * 60_000;

/** A page as it was read. */
interface Page {
  text: string;
  /** After redirects. */
  url: string;
  status: number;
}

/** Makes the tool; `monotonicNow` is a clock in milliseconds. */
export function createWebFetch(egress: Egress, monotonicNow = (): number => performance.now()): Tool {
  const held = new Recent<Page>(HELD_MS, MAX_HELD_PAGES, monotonicNow);
  return defineTool({
    name: 'web_fetch',
    description: `Read a public web page as text, at most ${MAX_PART_CHARS} characters at a time.`,
    parameters,
    effect: 'pure',
    // An address can carry text of the chat to the owner of the server.
    risk: () => 'caution',
    results: 'web',
    // A further part is never requested again: it comes from the page that was read.
    reach: ({ url, offset }) => (offset > 0 ? 'session' : { address: url }),
    async execute(args: z.infer<typeof parameters>, ctx) {
      const key = `${ctx.sessionKey} ${args.url}`;
      const page = args.offset > 0 ? held.get(key) : await readPage(egress, args.url, ctx.signal);
      if (page === undefined) {
        throw new ToolError('not_held', 'This page is no longer held: read it again from offset 0.');
      }
      const { text, url, status } = page;
      const part = text.slice(args.offset, args.offset + MAX_PART_CHARS).toWellFormed();
      const next = args.offset + MAX_PART_CHARS;
      if (next < text.length) held.set(key, page);
      const more =
        next < text.length ? `\n(${next} of ${text.length} characters; go on with "offset": ${next})` : '';
      const failed = status >= 400;
      const says = failed ? `The server answered with status ${status}.\n` : '';
      const nothing = text === '' ? '(an empty page)' : `(the page ends at character ${text.length})`;
      return { content: `${says}${part === '' ? nothing : part}${more}`, isError: failed, from: url };
    },
  });
}

async function readPage(egress: Egress, address: string, signal: AbortSignal): Promise<Page> {
  const answer = await egress({ url: address, signal });
  return { text: await readableText(answer, signal), url: answer.url, status: answer.status };
}

async function readableText(
  { body, contentType, url }: EgressResponse,
  signal: AbortSignal,
): Promise<string> {
  const type = contentType.split(';')[0]?.trim() ?? '';
  if (type === 'text/html' || type === 'application/xhtml+xml') {
    const { title, text } = await pageText(decode(body, contentType), url, signal);
    return title === '' ? text : `# ${title}\n\n${text}`;
  }
  if (/^text\/|[/+](json|xml|yaml|javascript)$/.test(type) || (type === '' && !body.includes(0))) {
    return decode(body, contentType);
  }
  return `(${type === '' ? 'a file of no known type' : type}, ${body.length} bytes: not shown)`;
}

/** By the charset of the header, else of the page's first kilobyte, else UTF-8. */
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
