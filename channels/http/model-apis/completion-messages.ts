/** The messages of a chat-completions request: as a model's context, or what a session takes from them. */
import { z } from 'zod';
import type { StatelessMessage } from '../../../src/protocol/gateway-api.ts';
import type { InlineFile } from '../../../src/protocol/media.ts';
import type { Echo, ToolCall } from '../../../src/protocol/agent/provider.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../../src/lib/json/json.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { parseShape } from '../body.ts';
import { invalid, unsupported } from './fields.ts';

/** A part of any kind; which one it is, and whether it is supported, is checked when it is read. */
const part = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
});

/** Text, or parts. */
export const contentSchema = z.union([z.string(), z.array(part)]);

/** What a model's server sent with an answer, and its caller sends back: passed on as it is. */
const opaque = z
  .record(z.string(), z.unknown())
  .refine((value) => !isTooDeep(value), `is nested more than ${MAX_JSON_DEPTH} levels deep`);

/** Arguments of an earlier call: JSON text, or the object that some clients send instead; undefined and '' mean none. */
export const callArguments = z
  .union([z.string(), z.record(z.string(), z.unknown())], 'must be JSON text or an object')
  .nullish()
  .transform((args) => (typeof args === 'string' ? args : JSON.stringify(args ?? {})));

const toolCallSchema = z.object({
  id: z.string(),
  type: z.literal('function', 'must be "function"').nullish(),
  function: z.object({ name: z.string(), arguments: callArguments }),
  extra_content: opaque.nullish(),
});

/** One message. `name` of a participant is not passed on: model servers have no place for it. */
export const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema.nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(opaque).nullish(),
  extra_content: opaque.nullish(),
  tool_calls: z.array(toolCallSchema).nullish(),
  tool_call_id: z.string().nullish(),
  function_call: z.unknown().optional(),
  audio: z.unknown().optional(),
});
type WireMessage = z.infer<typeof messageSchema>;
type WireCall = z.infer<typeof toolCallSchema>;

/** A result of a tool that the caller ran. */
export interface ToolOutput {
  toolCallId: string;
  content: string;
}

/** What a session takes from the messages: a new one from the user, or the results of the tools it waits for. */
export type SessionInput =
  | { kind: 'message'; content: string; files: InlineFile[] }
  | { kind: 'results'; results: ToolOutput[] };

/** The end of the list, which a call in a session posts. Throws `HttpError` 400 when it is neither the user's nor a tool's. */
export function sessionInput(messages: readonly WireMessage[]): SessionInput {
  const last = messages.length - 1;
  const message = messages[last];
  if (message?.role === 'user') {
    const { text, files } = contentOf(message, last);
    return { kind: 'message', content: text, files };
  }
  if (message?.role !== 'tool') {
    throw invalid(
      `messages.${last}.role`,
      'in a session the last message must have the role "user" or "tool"',
    );
  }
  const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  const results = messages.slice(from).map((result, nth) => {
    const toolCallId = result.tool_call_id ?? '';
    if (toolCallId === '') throw invalid(`messages.${from + nth}.tool_call_id`, 'is missing');
    return { toolCallId, content: textOf(result, from + nth) };
  });
  return { kind: 'results', results };
}

/** The system messages of a call in a session, joined; undefined without any. Throws `HttpError` 400. */
export function instructionsOf(messages: readonly WireMessage[]): string | undefined {
  const texts = messages.flatMap((message, index) =>
    message.role === 'system' || message.role === 'developer' ? [textOf(message, index)] : [],
  );
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

/** The whole list as a model's context. Throws `HttpError` 400 that names the invalid message. */
export function toContext(messages: readonly WireMessage[]): StatelessMessage[] {
  const toolNames = new Map<string, string>();
  return messages.map((message, index): StatelessMessage => {
    if (message.role === 'user') {
      const { text, files } = contentOf(message, index);
      return { role: 'user', content: text, ...(files.length > 0 && { files }) };
    }
    const content = textOf(message, index);
    switch (message.role) {
      case 'assistant': {
        const toolCalls = (message.tool_calls ?? []).map(toToolCall);
        for (const call of toolCalls) toolNames.set(call.id, call.name);
        const thinking = message.reasoning_content ?? message.reasoning ?? '';
        const echo = echoOf(message);
        return {
          role: 'assistant',
          content,
          ...(toolCalls.length > 0 && { toolCalls }),
          ...(thinking !== '' && { thinking: cleanText(thinking) }),
          ...(echo && { echo }),
        };
      }
      case 'tool': {
        const toolCallId = message.tool_call_id ?? '';
        const toolName = toolNames.get(toolCallId);
        if (toolName === undefined) {
          throw invalid(`messages.${index}.tool_call_id`, 'no earlier assistant message has that tool call');
        }
        return { role: 'tool', content, toolCallId, toolName };
      }
      default:
        return { role: 'system', content };
    }
  });
}

function textOf(message: WireMessage, index: number): string {
  return readText(rawContent(message, index), `messages.${index}.content`);
}

function contentOf(message: WireMessage, index: number): Content {
  return readContent(rawContent(message, index), `messages.${index}.content`);
}

function rawContent(message: WireMessage, index: number): NonNullable<WireMessage['content']> {
  if (message.function_call != null) throw unsupported(`messages.${index}.function_call`, 'use tool_calls');
  if (message.audio != null) throw unsupported(`messages.${index}.audio`, 'answers are text');
  return message.content ?? message.refusal ?? '';
}

function toToolCall({ id, function: func, extra_content: extra }: WireCall): ToolCall {
  return { ...readCall(id, func.name, func.arguments), ...(extra != null && { extra }) };
}

/** What a caller returns of an earlier answer, for the same model; undefined if it returns nothing. */
function echoOf(message: WireMessage): Echo | undefined {
  const { reasoning_details: details, extra_content: extra, tool_calls: calls } = message;
  const thinks = typeof (message.reasoning_content ?? message.reasoning) === 'string';
  const hasExtra = (calls ?? []).some(({ extra_content: callExtra }) => callExtra != null);
  if (details == null && extra == null && !thinks && !hasExtra) return undefined;
  return {
    ...(thinks && { thoughtField: 'reasoning_content' }),
    fields: {
      ...(details != null && { reasoning_details: details }),
      ...(extra != null && { extra_content: extra }),
    },
  };
}

/** A tool call of an earlier answer. Arguments that cannot be read, or are nested too deep, are malformed. Never throws. */
export function readCall(id: string, name: string, text: string): ToolCall {
  try {
    const args = z.record(z.string(), z.unknown()).safeParse(text.trim() === '' ? {} : JSON.parse(text));
    if (args.success && !isTooDeep(args.data)) return { id, name, args: args.data };
  } catch {
    // Not JSON: passed on as malformed, like a model's own invalid arguments.
  }
  return { id, name, args: {}, malformed: text };
}

type Part = z.infer<typeof part>;

interface Content {
  text: string;
  files: InlineFile[];
}

/** Parts that are text; a refusal is one. */
const TEXTS = new Set(['text', 'refusal', 'input_text', 'output_text']);

/** Chat completions put the fields of a file below its type, responses next to it. */
const image = z.looseObject({ image_url: z.union([z.string(), z.looseObject({ url: z.string() })]) });

const audio = z.looseObject({
  input_audio: z.looseObject({ data: z.string(), format: z.string().regex(/^[a-z0-9]{1,8}$/i) }),
});

const fileFields = z.looseObject({ file_data: z.string().nullish(), filename: z.string().nullish() });

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

function readFile(input: Part, param: string, index: number): InlineFile {
  switch (input.type) {
    case 'image_url':
    case 'input_image': {
      const { image_url: url } = parseShape(input, image, param);
      return { name: `image-${index + 1}`, base64: dataOf(typeof url === 'string' ? url : url.url, param) };
    }
    case 'input_audio': {
      const { data, format } = parseShape(input, audio, param).input_audio;
      return { name: `audio-${index + 1}.${format}`, base64: base64Of(data, param) };
    }
    case 'file':
    case 'input_file': {
      const { file_data: data, filename } = parseShape(
        input.type === 'file' ? input['file'] : input,
        fileFields,
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
        `parts of type "${input.type.slice(0, 40).toWellFormed()}" are not read`,
      );
  }
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
