/**
 * Converts what servers send (results, resources, prompts) to text for the model; anything that is not text becomes a
 * sentence.
 */
import { z } from 'zod';
import { isTooDeep, parseJson, sortKeys } from '../lib/json/json.ts';
import { oneLine } from '../lib/text.ts';

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

export type CallResult = z.infer<typeof callResult>;

/** A picture or sound in a result. */
export interface ResultFile {
  /** Its index among the parts. */
  part: number;
  kind: 'image' | 'audio';
  base64: string;
}

/** The pictures and sounds in a result. Never throws. */
export function filesOfResult({ content }: Pick<CallResult, 'content'>): ResultFile[] {
  return content.slice(0, MAX_PARTS).flatMap((given, at) => {
    const { success, data } = media.safeParse(given);
    return success ? [{ part: at, kind: data.type, base64: data.data }] : [];
  });
}

/**
 * The text of a result, with its structured content unless a part repeats it, as the specification asks servers to.
 * `kept` says what happened to each picture and sound, by its index among the parts. Never throws.
 */
export function textOfResult(
  { content, structuredContent }: CallResult,
  kept: ReadonlyMap<number, string> = new Map(),
): string {
  const parts = joinParts(content, kept);
  const structured = content.some((given) => repeats(given, structuredContent))
    ? undefined
    : structuredContent;
  const texts = [parts, structured === undefined || structured === null ? '' : JSON.stringify(structured)];
  const whole = texts.filter((one) => one !== '').join('\n');
  return whole === '' ? '(no content)' : bounded(whole);
}

/** True for a text that is the same JSON, in whatever order and layout. */
function repeats(given: unknown, structured: unknown): boolean {
  const { data } = text.safeParse(given);
  if (data === undefined || structured === undefined || isTooDeep(structured)) return false;
  const said = parseJson(data.text);
  return (
    said !== undefined &&
    !isTooDeep(said) &&
    JSON.stringify(sortKeys(said)) === JSON.stringify(sortKeys(structured))
  );
}

/** The text of parts, in their order. Never throws. */
export function textOfParts(
  parts: readonly unknown[],
  kept: ReadonlyMap<number, string> = new Map(),
): string {
  return bounded(joinParts(parts, kept));
}

function joinParts(parts: readonly unknown[], kept: ReadonlyMap<number, string>): string {
  const lines = parts.slice(0, MAX_PARTS).map((part, at) => textOfPart(part, kept.get(at)));
  if (parts.length > MAX_PARTS) lines.push(`(and ${parts.length - MAX_PARTS} more parts: not shown)`);
  return lines.join('\n');
}

/** The text of one content of a resource. Never throws. */
export function textOfContents(given: unknown): string {
  const { success, data } = contents.safeParse(given);
  if (!success) return '(a part that cannot be read)';
  const { uri, mimeType = 'of no known type', text, blob } = data;
  if (text !== undefined) return bounded(text);
  return blob === undefined
    ? `(${quote(uri)}: empty)`
    : `(${quote(uri)}: ${sizeOf(mimeType, blob)}, not shown)`;
}

function textOfPart(given: unknown, kept = 'not shown'): string {
  const { success, data } = part.safeParse(given);
  if (!success) return '(a part of a kind that this gateway does not know)';
  switch (data.type) {
    case 'text':
      return data.text;
    case 'image':
    case 'audio':
      return `(${data.type === 'image' ? 'an image' : 'a sound'}, ${sizeOf(data.mimeType, data.data)}: ${kept})`;
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
