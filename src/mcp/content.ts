/** Converts results, resources and prompts to text for the model; anything else becomes a sentence. */
import { z } from 'zod';
import { isTooDeep, parseJson, sortKeys } from '../lib/json/json.ts';
import { oneLine } from '../lib/text.ts';
import { StoreError, toGatewayError } from '../protocol/errors.ts';
import type { KeepToolFile } from '../protocol/media.ts';
import type { ToolContext, ToolResult } from '../protocol/agent/tool.ts';

/** Maximum number of parts of one result that are read. */
export const MAX_PARTS = 200;
/** Longest text created from one result, in UTF-16 units; the model reads its head and tail. */
export const MAX_CONTENT_CHARS = 200_000;
/** Longest name, address or type that a sentence quotes. */
const MAX_QUOTED_CHARS = 300;

const text = z.object({ type: z.literal('text'), text: z.string() });
const media = z.object({
  type: z.enum(['image', 'audio']),
  data: z.string(),
  mimeType: z.string().default('of no known type'),
});
const contents = z.object({
  uri: z.string().default(''),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});
const embedded = z.object({ type: z.literal('resource'), resource: contents });
const link = z.object({
  type: z.literal('resource_link'),
  uri: z.string(),
  name: z.string().default(''),
  description: z.string().optional(),
});
const part = z.discriminatedUnion('type', [text, media, embedded, link]);

/** Anything that a server answers to `tools/call`. */
export const callResult = z.looseObject({
  content: z.array(z.unknown()).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});

type CallResult = z.infer<typeof callResult>;

/**
 * The text of a result, with its structured content unless a part repeats it. `fileTexts` says what happened to each
 * picture and sound, by its index among the parts. Never throws.
 */
export function textOfResult(
  { content, structuredContent }: CallResult,
  fileTexts: ReadonlyMap<number, string> = new Map(),
): string {
  const parts = joinParts(content, fileTexts);
  const structured = content.some((item) => repeats(item, structuredContent)) ? undefined : structuredContent;
  const texts = [parts, structured === undefined || structured === null ? '' : JSON.stringify(structured)];
  const whole = texts.filter((one) => one !== '').join('\n');
  return whole === '' ? '(no content)' : bounded(whole);
}

/** True for a text that is the same JSON, in whatever order and layout. */
function repeats(item: unknown, structured: unknown): boolean {
  const { data } = text.safeParse(item);
  if (data === undefined || structured === undefined || isTooDeep(structured)) return false;
  const json = parseJson(data.text);
  return (
    json !== undefined &&
    !isTooDeep(json) &&
    JSON.stringify(sortKeys(json)) === JSON.stringify(sortKeys(structured))
  );
}

/** The text of parts, in their order. Never throws. */
export function textOfParts(
  parts: readonly unknown[],
  fileTexts: ReadonlyMap<number, string> = new Map(),
): string {
  return bounded(joinParts(parts, fileTexts));
}

function joinParts(parts: readonly unknown[], fileTexts: ReadonlyMap<number, string>): string {
  const lines = parts.slice(0, MAX_PARTS).map((part, at) => textOfPart(part, fileTexts.get(at)));
  if (parts.length > MAX_PARTS) lines.push(`(and ${parts.length - MAX_PARTS} more parts: not shown)`);
  return lines.join('\n');
}

/** The text of one content of a resource. Never throws. */
export function textOfContents(item: unknown): string {
  const { success, data } = contents.safeParse(item);
  if (!success) return '(a part that cannot be read)';
  const { uri, mimeType = 'of no known type', text, blob } = data;
  if (text !== undefined) return bounded(text);
  return blob === undefined
    ? `(${quote(uri)}: empty)`
    : `(${quote(uri)}: ${sizeOf(mimeType, blob)}, not shown)`;
}

function textOfPart(item: unknown, fileText = 'not shown'): string {
  const { success, data } = part.safeParse(item);
  if (!success) return '(a part of a kind that this gateway does not know)';
  switch (data.type) {
    case 'text':
      return data.text;
    case 'image':
    case 'audio':
      return `(${data.type === 'image' ? 'an image' : 'a sound'}, ${sizeOf(data.mimeType, data.data)}: ${fileText})`;
    case 'resource':
      return `(the resource ${quote(data.resource.uri)})\n${textOfContents(data.resource)}`;
    case 'resource_link': {
      const about = data.description === undefined ? '' : `: ${quote(data.description)}`;
      return `(a link to the resource ${quote(data.uri)}, ${quote(data.name)}${about}; read_resource reads it)`;
    }
    default:
      return data satisfies never;
  }
}

function sizeOf(mimeType: string, base64: string): string {
  return `${quote(mimeType)}, ${Math.floor((base64.length * 3) / 4)} bytes`;
}

function quote(name: string): string {
  return oneLine(name.slice(0, 4 * MAX_QUOTED_CHARS))
    .slice(0, MAX_QUOTED_CHARS)
    .toWellFormed();
}

/** Beyond the limit only the length is given: the model reads far less in any case. */
function bounded(whole: string): string {
  if (whole.length <= MAX_CONTENT_CHARS) return whole;
  return `${whole.slice(0, MAX_CONTENT_CHARS).toWellFormed()}\n(${whole.length - MAX_CONTENT_CHARS} more characters)`;
}

/** The result of a tool call as the model reads it: its text, and its pictures and sounds as files of the session. */
/** Maximum number of files kept per result. */
export const MAX_RESULT_FILES = 6;
/** Longest quoted question from a server, in UTF-16 units. */
const MAX_QUESTION_CHARS = 200;

/** Reads a result and stores its files. Throws only `StoreError` and the signal's reason. */
export async function readResult(
  result: CallResult,
  keep: KeepToolFile,
  ctx: ToolContext,
): Promise<ToolResult> {
  const texts = new Map<number, string>();
  const pictures: string[] = [];
  for (const [part, item] of result.content.slice(0, MAX_PARTS).entries()) {
    const { success, data } = media.safeParse(item);
    if (!success) continue;
    const outcome =
      texts.size < MAX_RESULT_FILES
        ? await keepOne(data.type, data.data, keep, ctx)
        : { text: `not kept: only ${MAX_RESULT_FILES} files of a result are` };
    texts.set(part, outcome.text);
    if (outcome.picture !== undefined) pictures.push(outcome.picture);
  }
  const content = textOfResult(result, texts);
  return { content, isError: result.isError, pictures: pictures.length > 0 ? pictures : undefined };
}

/** Where the file is, or why it was not stored. */
async function keepOne(
  kind: 'image' | 'audio',
  base64: string,
  keep: KeepToolFile,
  { folder, userId, signal }: ToolContext,
): Promise<{ text: string; picture?: string | undefined }> {
  try {
    const { attachment, picture, problem } = await keep({ kind, base64 }, { folder, userId }, signal);
    const unread = problem === undefined ? '' : `, which cannot be read: ${problem}`;
    return { text: `the file ${attachment.file}${unread}`, picture };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StoreError) throw error;
    return { text: `not kept: ${toGatewayError(error).message}` };
  }
}

/** The progress of a call, in one line. */
export function progressText({ progress, total, message }: Progress): string {
  const far = total === undefined ? numberText(progress) : `${numberText(progress)} of ${numberText(total)}`;
  return message === undefined || message === '' ? far : `${far} ${message}`;
}

interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

/** What the model reads about a question that the server wanted to ask people during a call. */
export function declinedText(question: string): string {
  const quoted = oneLine(question.slice(0, 4 * MAX_QUESTION_CHARS))
    .slice(0, MAX_QUESTION_CHARS)
    .toWellFormed();
  return `(During this call the server wanted to ask the user: "${quoted}". This gateway passes no questions of servers on, so it was declined; the user may tell you the answer, which you can give in the arguments of another call.)`;
}
