/** One chat completion as OpenAI clients read it: whole, or in chunks from the first token on. */
import type { ServerResponse } from 'node:http';
import type { TokenLogprob, ToolCall, Usage } from '../../../src/protocol/agent/provider.ts';
import { timeOf } from '../../../src/lib/ids.ts';
import { errorBody } from '../errors.ts';
import type { EventStream } from '../event-stream.ts';
import { type AnswerWriter, collectedAnswer, type Refuse, streamFailure } from './answer.ts';

/** The fields that all chunks of a completion share. */
export interface CompletionId {
  id: string;
  model: string;
  /** Epoch seconds. */
  created: number;
}

/** The fields of the completion with this id of a turn or call; `prefix` says of which route it is. */
export function completionId(prefix: string, id: string, model: string): CompletionId {
  return { id: `${prefix}-${id}`, model, created: Math.floor(timeOf(id) / 1_000) };
}

/** Writes chunks to an open stream. The JSON around a delta is made once per answer, not once per token. */
export function streamedAnswer(
  stream: EventStream,
  name: CompletionId,
  includeUsage: boolean,
  refuse: Refuse,
): AnswerWriter {
  const head = `data: ${JSON.stringify({ id: name.id, object: 'chat.completion.chunk', created: name.created, model: name.model }).slice(0, -1)}`;
  const usageField = includeUsage ? ',"usage":null' : '';
  const chunk = (delta: string, finish: string, logprobs = 'null'): string =>
    `${head},"choices":[{"index":0,"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}}]${usageField}}\n\n`;
  const [textHead, tail] = halves(chunk('{"content":"§"}', 'null'));
  const [thinkingHead] = halves(chunk('{"reasoning_content":"§"}', 'null'));
  let opening = chunk('{"role":"assistant","content":""}', 'null');
  const writeChunks = (frame: string): void => {
    stream.write(opening + frame);
    opening = '';
  };
  let calls = 0;
  return {
    whole: false,
    text(delta, logprobs) {
      if (logprobs === undefined) writeChunks(textHead + JSON.stringify(delta) + tail);
      else
        writeChunks(
          chunk(JSON.stringify({ content: delta }), 'null', JSON.stringify(wireLogprobs(logprobs))),
        );
    },
    toolCall(call) {
      const index = calls++;
      const { function: func, ...callFields } = wireToolCall(call);
      const begin = { index, ...callFields, function: { name: func.name, arguments: '' } };
      const rest = { index, function: { arguments: func.arguments } };
      for (const part of [begin, rest]) writeChunks(chunk(JSON.stringify({ tool_calls: [part] }), 'null'));
    },
    thinking: (delta) => writeChunks(thinkingHead + JSON.stringify(delta) + tail),
    textWasThinking: () => undefined,
    waiting: () => stream.write(': ping\n\n'),
    finish(reason, usage, fields = {}) {
      const last = includeUsage
        ? `${head},"choices":[],"usage":${JSON.stringify(wireUsage(usage))}}\n\n`
        : '';
      if (Object.keys(fields).length > 0) writeChunks(chunk(JSON.stringify(fields), 'null'));
      writeChunks(`${chunk('{}', `"${reason}"`)}${last}data: [DONE]\n\n`);
      stream.end();
    },
    fail: streamFailure(stream, refuse, (error) =>
      stream.write(`data: ${JSON.stringify(errorBody(error))}\n\n`),
    ),
  };
}

function halves(chunk: string): [string, string] {
  const [head = '', tail = ''] = chunk.split('"§"');
  return [head, tail];
}

/** Sends the answer as one JSON body. */
export function wholeAnswer(
  outgoing: ServerResponse,
  { id, created, model }: CompletionId,
  refuse: Refuse,
): AnswerWriter {
  return collectedAnswer(outgoing, refuse, ({ text, thinking, calls, logprobs, reason, usage, fields }) => {
    const message = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(calls.length > 0 && { tool_calls: calls.map(wireToolCall) }),
      ...(thinking === '' ? {} : { reasoning_content: thinking }),
      ...fields,
      refusal: null,
    };
    const choice = {
      index: 0,
      message,
      logprobs: logprobs ? wireLogprobs(logprobs) : null,
      finish_reason: reason,
    };
    return { id, object: 'chat.completion', created, model, choices: [choice], usage: wireUsage(usage) };
  });
}

/** The call as OpenAI's clients read it: arguments that are not an object stay as the model wrote them. */
export function wireToolCall({ id, name, args, malformed, extra }: ToolCall) {
  return {
    id,
    type: 'function',
    function: { name, arguments: malformed ?? JSON.stringify(args) },
    ...(extra !== undefined && { extra_content: extra }),
  };
}

function wireLogprobs(tokens: readonly TokenLogprob[]) {
  return { content: tokens.map(({ top, ...token }) => ({ ...token, top_logprobs: top })), refusal: null };
}

/** The usage as OpenAI's clients read it. */
export function wireUsage({ promptTokens, completionTokens }: Usage): Record<string, number> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
