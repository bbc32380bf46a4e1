/** The tool `read_file`: a page of a file's text in the session's workspace (B-16). */
import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { GatewayError, ToolError } from '../../protocol/errors.ts';
import type { DocumentText } from '../../protocol/media.ts';
import { defineTool, type Tool, type ToolResult } from '../../protocol/agent/tool.ts';
import { isSkill, openReadable } from './workspace.ts';

/** Bytes of one page: about 4,000 tokens, so that a page fits a small window. */
export const MAX_PAGE_BYTES = 12_000;

const parameters = z.strictObject({
  path: z.string().min(1).describe('File relative to the workspace.'),
  offset: z.int().min(0).default(0).describe('First byte to read, for files longer than a page.'),
  limit: z.int().min(4).max(MAX_PAGE_BYTES).default(MAX_PAGE_BYTES).describe('Most bytes to read.'),
});

/** Largest document whose text is extracted, in bytes. */
const MAX_DOCUMENT_BYTES = 100_000_000;

/** Makes the tool; `documentText` returns the text of files that are not plain text, such as a PDF. */
export function createReadFile(documentText: DocumentText): Tool {
  return defineTool({
    name: 'read_file',
    description: `Read a file of the workspace, at most ${MAX_PAGE_BYTES} bytes at a time: its text, also of a PDF, a .docx or an .xlsx.`,
    parameters,
    effect: 'pure',
    risk: () => 'safe',
    reach: () => 'session',
    results: 'local',
    async execute(args: z.infer<typeof parameters>, ctx) {
      await using file = await openReadable(ctx, args.path);
      if (file.stats.isDirectory()) {
        throw new ToolError('not_a_file', `"${args.path}" is a folder; list it with list_dir.`);
      }
      const size = file.stats.size;
      const bytes = await readPage(file.handle, args.offset, args.limit);
      if (!(await isDocument(file.handle, bytes))) return pageOf(args, bytes, size);
      if (size > MAX_DOCUMENT_BYTES) return notShown(size, 'it is too large');
      let text: string;
      try {
        text = await documentText(await file.handle.readFile(), ctx.signal);
      } catch (error) {
        ctx.signal.throwIfAborted();
        if (error instanceof GatewayError) return notShown(size, error.message);
        throw error;
      }
      const whole = Buffer.from(text);
      return pageOf(args, whole.subarray(args.offset, args.offset + args.limit), whole.length);
    },
  });
}

/** An error about a binary file may contain text of the program that read it: the whole result counts as the file's. */
function notShown(size: number, reason: string): ToolResult {
  return { content: `(binary file of ${size} bytes: not shown, because ${reason})`, source: 'local' };
}

/** How much of a file decides whether it is plain UTF-8, in bytes. */
const START_BYTES = 65_536;

/** True for bytes that are not plain text in UTF-8, and for a PDF, which may look like it. */
async function isDocument(handle: FileHandle, page: Buffer): Promise<boolean> {
  const start = await readPage(handle, 0, START_BYTES);
  const head = start.subarray(0, 1_024);
  if (page.includes(0) || head.includes(0) || head.includes('%PDF-')) return true;
  return !isUtf8(wholeCharacters(start, false));
}

/** A page of `size` bytes of text, of which `bytes` begin at the offset. */
function pageOf({ path, offset }: z.infer<typeof parameters>, bytes: Buffer, size: number): ToolResult {
  if (bytes.length === 0) {
    const content = size === 0 ? '(empty file)' : `(the file ends at byte ${size})`;
    return { content, source: 'operator' };
  }
  const source = isSkill(path) ? 'operator' : 'local';
  const page = wholeCharacters(bytes, offset > 0);
  const start = offset + page.byteOffset - bytes.byteOffset;
  const next = start + page.length;
  const text = page.toString('utf8');
  const from = `the file ${path}`;
  if (start === 0 && next >= size) return { content: text, source, from };
  const more = next < size ? `; continue with "offset": ${next}` : '';
  return { content: `${text}\n(bytes ${start} to ${next} of ${size}${more})`, source, from };
}

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

/** The page without partial UTF-8 characters at its two ends. Bytes that are not UTF-8 at all stay. */
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
