/** Reads Ollama's streams: lines, each a JSON object, the last one `done`. Fields are read leniently, one by one. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import { endOf } from '../answers/finish.ts';
import { type AnswerReader, endedEarly, type ReadingOptions } from '../answers/read-answer.ts';
import {
  type Fields,
  fieldsOf,
  listOf,
  numberOf,
  textOf,
  thoughtsAmong,
  wordOf,
} from '../answers/read-fields.ts';
import { checkLineLength } from '../answers/text-splitters.ts';

const NOTHING: readonly ChatChunk[] = [];
const BYTE_ORDER_MARK = '\uFEFF';

/** What a reader is given: also what an `error` line means. */
export interface ReaderOptions extends ReadingOptions {
  failed: (error: string) => ProviderError;
}

/**
 * Makes the reader of one answer. Garbage lines end it as `bad_response`, an `error` line as what `failed` makes of it.
 * Nearly all lines contain only text: they are read first.
 */
export function createAnswerReader({ failed, makeCall, onRecord }: ReaderOptions): AnswerReader {
  let called = false;
  let done: Fields | undefined;

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
      const asked = fieldsOf(call['function']) ?? call;
      called = true;
      const given = {
        id: wordOf(call['id']),
        name: wordOf(asked['name']),
        args: asked['arguments'] ?? asked['parameters'],
      };
      chunks.push({ type: 'tool_call', call: makeCall(given) });
    }
    if (line['done'] === true || line['done'] === 'true') done = line;
    return chunks;
  };

  return {
    get complete() {
      return done !== undefined;
    },
    get finished() {
      return done !== undefined;
    },
    read(text) {
      checkLineLength(text);
      const line = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
      if (line.trim() === '') return NOTHING;
      const value = parseObject(line);
      if ('error' in value && Boolean(value['error'])) throw failed(errorText(value['error']));
      onRecord?.(value);
      const delta = plainText(value);
      if (delta === undefined) return readAny(value);
      return delta === '' ? NOTHING : [{ type: 'text', delta }];
    },
    end() {
      if (done === undefined) throw endedEarly();
      return [toDone(done, called)];
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
  const shown = JSON.stringify(line.slice(0, 80));
  const message = textRef('provider.bad_line', { line: shown });
  return new ProviderError('bad_response', message, { cause });
}

function errorText(error: unknown): string {
  return typeof error === 'string' ? error : JSON.stringify(error);
}

/** Ollama ends an answer that calls tools with `stop`; durations are in nanoseconds, zero values are omitted. */
function toDone(line: Fields, called: boolean): ChatChunk {
  const reason = wordOf(line['done_reason']);
  const end = endOf(reason);
  if (end === 'broken') {
    const message = textRef('provider.ollama_failed', {
      reason: `done_reason "${reason}"`,
    });
    throw new ProviderError('bad_response', message, { retryable: true });
  }
  const nanos = (numberOf(line['prompt_eval_duration']) ?? 0) + (numberOf(line['eval_duration']) ?? 0);
  return {
    type: 'done',
    finishReason: end === 'stop' || end === 'unknown' ? (called ? 'tool_calls' : 'stop') : end,
    ...(end === 'unknown' && { unknownReason: reason }),
    usage: {
      promptTokens: numberOf(line['prompt_eval_count']) ?? 0,
      completionTokens: numberOf(line['eval_count']) ?? 0,
      modelMs: Math.round(nanos / 1e6),
    },
  };
}
