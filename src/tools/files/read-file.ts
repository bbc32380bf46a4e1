/** The tool `read_file`: a page of a text file in the session's workspace (B-16). */
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { ToolError } from '../../contracts/errors.ts';
import { defineTool } from '../../contracts/tool.ts';
import { isSkill, openReadable } from './readable-path.ts';

/** Bytes of one page: about 4,000 tokens, so that a page fits a small window. */
export const MAX_PAGE_BYTES = 12_000;

const parameters = z.strictObject({
  path: z.string().min(1).describe('File relative to the workspace.'),
  offset: z.int().min(0).default(0).describe('First byte to read, for files longer than a page.'),
  limit: z.int().min(4).max(MAX_PAGE_BYTES).default(MAX_PAGE_BYTES).describe('Most bytes to read.'),
});

export const readFile = defineTool({
  name: 'read_file',
  description: `Read a text file of the workspace, at most ${MAX_PAGE_BYTES} bytes at a time.`,
  parameters,
  effect: 'pure',
  risk: () => 'safe',
  reach: () => 'session',
  results: 'local',
  async execute(args: z.infer<typeof parameters>, ctx) {
    const source = isSkill(args.path) ? 'operator' : 'local';
    await using file = await openReadable(ctx, args.path);
    if (file.stats.isDirectory()) {
      throw new ToolError('not_a_file', `"${args.path}" is a folder; list it with list_dir.`);
    }
    const size = file.stats.size;
    const bytes = await readPage(file.handle, args.offset, args.limit);
    if (bytes.includes(0)) return { content: `(binary file of ${size} bytes: not shown)`, source };
    if (bytes.length === 0) {
      return { content: size === 0 ? '(empty file)' : `(the file ends at byte ${size})`, source };
    }
    const page = wholeCharacters(bytes, args.offset > 0);
    const start = args.offset + page.byteOffset - bytes.byteOffset;
    const next = start + page.length;
    const text = page.toString('utf8');
    if (start === 0 && next >= size) return { content: text, source };
    const more = next < size ? `; go on with "offset": ${next}` : '';
    return { content: `${text}\n(bytes ${start} to ${next} of ${size}${more})`, source };
  },
});

async function readPage(handle: FileHandle, offset: number, limit: number): Promise<Buffer> {
  const buffer = Buffer.alloc(limit);
  let filled = 0;
  while (filled < limit) {
    const { bytesRead } = await handle.read(buffer, filled, limit - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** The page without the halves of UTF-8 characters at its two ends. Bytes that are no UTF-8 at all stay. */
function wholeCharacters(bytes: Buffer, cutAtStart: boolean): Buffer {
  const mostSkipped = Math.min(cutAtStart ? 3 : 0, bytes.length);
  let start = 0;
  while (start < mostSkipped && isContinuation(bytes[start])) start += 1;
  if (start === bytes.length) return bytes;
  let lead = bytes.length - 1;
  while (lead > start && bytes.length - lead < 4 && isContinuation(bytes[lead])) lead -= 1;
  const whole = lead + characterLength(bytes[lead]) <= bytes.length;
  const end = whole || lead === start ? bytes.length : lead;
  return bytes.subarray(start, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** How many bytes the UTF-8 character that begins with `byte` has. */
function characterLength(byte: number | undefined): number {
  if (byte === undefined || byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
