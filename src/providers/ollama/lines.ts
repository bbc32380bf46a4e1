/** Reads Ollama's streams: lines, each a JSON object, the last one `done`. Fields are read leniently, one by one. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import {
  type AnswerReader,
  checkLineLength,
  endedEarly,
  endOf,
  type OnRecord,
} from '../answers/read-answer.ts';
import {
  type Fields,
  fieldsOf,
  listOf,
  numberOf,
  textOf,
  thoughtsAmong,
  wordOf,
} from '../answers/read-fields.ts';
import type { MakeToolCall } from '../answers/tool-calls.ts';

const NOTHING: readonly ChatChunk[] = [];
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Makes the reader of one answer: garbage ends it as `bad_response`, an `error` line as `failed` says. Nearly all lines
 * hold only text, and are read first.
 */
export function createAnswerReader(
  makeCall: MakeToolCall,
  toError: (error: string) => ProviderError,
  onRecord?: OnRecord,
): AnswerReader {
  let hasCalls = false;
  let lastLine: Fields | undefined;

  const readAny = (line: Fields): readonly ChatChunk[] => {
    const message = fieldsOf(line['message']) ?? {};
    const chunks: ChatChunk[] = [];
    const thinking = textOf(message['thinking'], 'thinking') || thoughtsAmong(message['content']);
    // `response` is where /api/generate has its text; some imitations of Ollama mix the two.
    const text = textOf(message['content'] ?? line['response']);
    if (thinking !== '') chunks.push({ type: 'thinking', delta: thinking });
    if (text !== '') chunks.push({ type: 'text', delta: text });
    for (const item of listOf(message['tool_calls'])) {
      const call = fieldsOf(item) ?? {};
      const body = fieldsOf(call['function']) ?? call;
      hasCalls = true;
      const args = body['arguments'] ?? body['parameters'];
      const toolCall = makeCall({ id: wordOf(call['id']), name: wordOf(body['name']), args });
      chunks.push({ type: 'tool_call', call: toolCall });
    }
    if (line['done'] === true || line['done'] === 'true') lastLine = line;
    return chunks;
  };

  return {
    get complete() {
      return lastLine !== undefined;
    },
    get finished() {
      return lastLine !== undefined;
    },
    read(text) {
      checkLineLength(text);
      const line = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
      if (line.trim() === '') return NOTHING;
      const value = parseObject(line);
      if ('error' in value && Boolean(value['error']))
        throw toError(typeof value['error'] === 'string' ? value['error'] : JSON.stringify(value['error']));
      onRecord?.(value);
      const delta = plainText(value);
      if (delta === undefined) return readAny(value);
      return delta === '' ? NOTHING : [{ type: 'text', delta }];
    },
    end() {
      if (lastLine === undefined) throw endedEarly();
      return [toDone(lastLine, hasCalls)];
    },
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

function parseObject(line: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw garbage(line, cause);
  }
  const fields = fieldsOf(value);
  if (fields === undefined) throw garbage(line);
  return fields;
}

function garbage(line: string, cause?: unknown): ProviderError {
  const message = textRef('provider.bad_line', { line: JSON.stringify(line.slice(0, 80)) });
  return new ProviderError('bad_response', message, { cause });
}

/** Ollama ends an answer that calls tools with `stop`; durations are in nanoseconds, zero values are omitted. */
function toDone(line: Fields, hasCalls: boolean): ChatChunk {
  const reason = wordOf(line['done_reason']);
  const end = endOf(reason);
  if (end === 'broken') {
    const message = textRef('provider.ollama_failed', { reason: `done_reason "${reason}"` });
    throw new ProviderError('bad_response', message, { retryable: true });
  }
  const nanos = (numberOf(line['prompt_eval_duration']) ?? 0) + (numberOf(line['eval_duration']) ?? 0);
  return {
    type: 'done',
    finishReason: end === 'stop' || end === 'unknown' ? (hasCalls ? 'tool_calls' : 'stop') : end,
    unknownReason: end === 'unknown' ? reason : undefined,
    usage: {
      promptTokens: numberOf(line['prompt_eval_count']) ?? 0,
      completionTokens: numberOf(line['eval_count']) ?? 0,
      modelMs: Math.round(nanos / 1e6),
    },
  };
}
