/** The content of a message in OpenAI's requests: its text, and the files that its parts carry as base64. */
import { z } from 'zod';
import type { InlineFile } from '../../../../src/protocol/media.ts';
import { cleanText } from '../../../../src/lib/text.ts';
import { unsupported } from './fields.ts';
import { clearestIssue } from '../../clearest-issue.ts';
import { invalid } from './tool-fields.ts';

/** A part of any kind; which one it is, and whether it is supported, is checked when it is read. */
const part = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
});

/** Text, or parts. */
export const contentSchema = z.union([z.string(), z.array(part)]);
type Part = z.infer<typeof part>;

/** What a message says, and what it brings. */
export interface Content {
  text: string;
  files: InlineFile[];
}

/** Parts that are text; a refusal is one. */
const TEXTS = new Set(['text', 'refusal', 'input_text', 'output_text']);

/** The text and the files of a message; `param` is its place in the body. Throws `HttpError` 400. */
export function readContent(content: z.infer<typeof contentSchema>, param: string): Content {
  if (typeof content === 'string') return { text: cleanText(content), files: [] };
  const texts = content
    .filter(({ type }) => TEXTS.has(type))
    .map(({ text, refusal }) => text ?? refusal ?? '');
  const files = content.flatMap((one, index) =>
    TEXTS.has(one.type) ? [] : [readFile(one, `${param}.${index}`, index)],
  );
  return { text: cleanText(texts.join('\n')), files };
}

/** The text of a message that may bring no files: one of the system, the assistant or a tool. Throws `HttpError` 400. */
export function readText(content: z.infer<typeof contentSchema>, param: string): string {
  const { text, files } = readContent(content, param);
  if (files.length > 0) throw unsupported(param, 'only messages of the user bring files');
  return text;
}

/** Chat completions put the fields of a file below its type, responses next to it. */
const image = z.looseObject({ image_url: z.union([z.string(), z.looseObject({ url: z.string() })]) });
const audio = z.looseObject({
  input_audio: z.looseObject({ data: z.string(), format: z.string().regex(/^[a-z0-9]{1,8}$/i) }),
});
const fileFields = z.looseObject({ file_data: z.string().nullish(), filename: z.string().nullish() });

function readFile(given: Part, param: string, index: number): InlineFile {
  switch (given.type) {
    case 'image_url':
    case 'input_image': {
      const { image_url: url } = parse(image, given, param);
      return { name: `image-${index + 1}`, base64: dataOf(typeof url === 'string' ? url : url.url, param) };
    }
    case 'input_audio': {
      const { data, format } = parse(audio, given, param).input_audio;
      return { name: `audio-${index + 1}.${format}`, base64: base64Of(data, param) };
    }
    case 'file':
    case 'input_file': {
      const { file_data: data, filename } = parse(
        fileFields,
        given.type === 'file' ? given['file'] : given,
        param,
      );
      if (data == null)
        throw unsupported(param, 'no files are kept under an id, and none are fetched: send "file_data"');
      return {
        name: filename ?? `file-${index + 1}`,
        base64: data.startsWith('data:') ? dataOf(data, param) : base64Of(data, param),
      };
    }
    default:
      throw unsupported(
        `${param}.type`,
        `parts of type "${given.type.slice(0, 40).toWellFormed()}" are not read`,
      );
  }
}

function parse<Shape>(schema: z.ZodType<Shape>, given: unknown, param: string): Shape {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const { path, message } = clearestIssue(parsed.error);
  throw invalid([param, ...path].join('.'), message);
}

/** The base64 of a data URL. The gateway fetches nothing for its callers: an address could lead into its own network. */
function dataOf(url: string, param: string): string {
  const comma = url.indexOf(',');
  const head = url.slice(0, Math.min(comma, 200)).toLowerCase();
  if (comma > 0 && head.startsWith('data:') && head.endsWith(';base64'))
    return base64Of(url.slice(comma + 1), param);
  throw unsupported(
    param,
    'nothing is fetched from an address: send the bytes as a data URL, "data:image/png;base64,…"',
  );
}

function base64Of(text: string, param: string): string {
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)) return text;
  throw invalid(param, 'is not valid base64 (RFC 4648, section 4, on one line)');
}
