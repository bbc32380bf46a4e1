/** Reads Ollama's streams: lines, each a JSON object, the last one `done`. */
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import type { ChatChunk, ToolCall } from '../../contracts/provider.ts';
import { newId } from '../../lib/ids.ts';
import type { AnswerReader } from '../read-answer.ts';
import { checkLineLength } from '../text-splitters.ts';

const wireLine = z.object({
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().nullish(),
            function: z.object({ name: z.string(), arguments: z.unknown() }),
          }),
        )
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: z.number().nullish(),
  prompt_eval_duration: z.number().nullish(),
  eval_count: z.number().nullish(),
  eval_duration: z.number().nullish(),
});
type WireLine = z.infer<typeof wireLine>;

const NOTHING: readonly ChatChunk[] = [];

/**
 * Makes the reader of one answer. Garbage lines and lines of another shape end it as `bad_response`, an `error` line as
 * what `failed` makes of it. Lines of nothing but text are nearly all there are: they are read without the schema.
 */
export function createAnswerReader(failed: (error: string) => ProviderError): AnswerReader {
  const callIds = new Set<string>();
  let complete = false;

  const readAny = (value: object): readonly ChatChunk[] => {
    const { message, ...line } = parseLine(value);
    const chunks: ChatChunk[] = [];
    if (message?.thinking) chunks.push({ type: 'thinking', delta: message.thinking });
    if (message?.content) chunks.push({ type: 'text', delta: message.content });
    for (const call of message?.tool_calls ?? []) {
      chunks.push({ type: 'tool_call', call: toToolCall(call.id, call.function, callIds) });
    }
    if (line.done === true) {
      complete = true;
      chunks.push(toDone(line, callIds.size > 0));
    }
    return chunks;
  };

  return {
    get complete() {
      return complete;
    },
    read(line) {
      checkLineLength(line);
      if (line.trim() === '') return NOTHING;
      const value = parseObject(line);
      if ('error' in value) throw failed(errorText(value.error));
      const delta = plainText(value);
      if (delta === undefined) return readAny(value);
      return delta === '' ? NOTHING : [{ type: 'text', delta }];
    },
    end: () => NOTHING,
  };
}

/** The text of a line that holds nothing else; undefined for any other line. */
function plainText(line: object): string | undefined {
  if (!('message' in line) || !('done' in line) || line.done !== false) return undefined;
  const { message } = line;
  if (typeof message !== 'object' || message === null) return undefined;
  if (!('content' in message) || 'thinking' in message || 'tool_calls' in message) return undefined;
  return typeof message.content === 'string' ? message.content : undefined;
}

function parseObject(line: string): object {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw garbage(line, cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw garbage(line);
  return value;
}

function garbage(line: string, cause?: unknown): ProviderError {
  const shown = JSON.stringify(line.slice(0, 80));
  const message = `The model server sent a line that is not a JSON object: ${shown}`;
  return new ProviderError('bad_response', message, { cause });
}

function errorText(error: unknown): string {
  return typeof error === 'string' ? error : JSON.stringify(error);
}

function parseLine(value: object): WireLine {
  const parsed = wireLine.safeParse(value);
  if (parsed.success) return parsed.data;
  const why = z.prettifyError(parsed.error);
  throw new ProviderError('bad_response', `Ollama sent a line of an unknown shape: ${why}`);
}

/** Older servers give no ids, and nothing promises that theirs differ: each call gets one of its own. */
function toToolCall(
  id: string | null | undefined,
  asked: { name: string; arguments?: unknown },
  taken: Set<string>,
): ToolCall {
  const own = id && !taken.has(id) ? id : `call_${newId()}`;
  taken.add(own);
  const args = argsObject.safeParse(asked.arguments);
  if (args.success) return { id: own, name: asked.name, args: args.data };
  const given = asked.arguments;
  return {
    id: own,
    name: asked.name,
    args: {},
    malformed: typeof given === 'string' ? given : (JSON.stringify(given) ?? ''),
  };
}

const argsObject = z.record(z.string(), z.unknown());

/** Ollama ends an answer that calls tools with `stop`; durations come in nanoseconds, zero values not at all. */
function toDone(line: Omit<WireLine, 'message'>, calledTools: boolean): ChatChunk {
  const nanos = (line.prompt_eval_duration ?? 0) + (line.eval_duration ?? 0);
  const finished = calledTools ? 'tool_calls' : 'stop';
  return {
    type: 'done',
    finishReason: line.done_reason === 'length' ? 'length' : finished,
    usage: {
      promptTokens: line.prompt_eval_count ?? 0,
      completionTokens: line.eval_count ?? 0,
      modelMs: Math.round(nanos / 1e6),
    },
  };
}
