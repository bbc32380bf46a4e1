/** The tool `web_fetch`: a public web page as readable text (B-22). */
import { z } from 'zod';
import type { Egress, EgressResponse } from '../../contracts/tool.ts';
import { defineTool } from '../../contracts/tool.ts';
import type { Tool } from '../../contracts/tool.ts';
import { pageText } from './page-text.ts';
import { markUntrusted } from '../untrusted.ts';

/** Longest part of a page in one answer, in UTF-16 units: fits, with its marks, into what a model reads of a call. */
export const MAX_PART_CHARS = 12_000;

const parameters = z.strictObject({
  url: z.string().min(1).describe('An http or https address of the public internet.'),
  offset: z.int().min(0).default(0).describe('First character to read, for pages longer than a part.'),
});

export function createWebFetch(egress: Egress): Tool {
  return defineTool({
    name: 'web_fetch',
    description: `Read a public web page as text, at most ${MAX_PART_CHARS} characters at a time.`,
    parameters,
    effect: 'pure',
    // An address can carry text of the chat to the owner of the server.
    risk: () => 'caution',
    results: 'web',
    reach: ({ url }) => ({ address: url }),
    async execute(args: z.infer<typeof parameters>, ctx) {
      const answer = await egress({ url: args.url, signal: ctx.signal });
      const text = await readableText(answer, ctx.signal);
      const part = text.slice(args.offset, args.offset + MAX_PART_CHARS).toWellFormed();
      const next = args.offset + MAX_PART_CHARS;
      const more =
        next < text.length ? `\n(${next} of ${text.length} characters; go on with "offset": ${next})` : '';
      const failed = answer.status >= 400;
      const status = failed ? `The server answered with status ${answer.status}.\n` : '';
      const nothing = text === '' ? '(an empty page)' : `(the page ends at character ${text.length})`;
      const content = part === '' ? nothing : markUntrusted(answer.url, part);
      return { content: `${status}${content}${more}`, isError: failed };
    },
  });
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
