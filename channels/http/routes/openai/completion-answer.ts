/** One chat completion as OpenAI clients read it: whole, or in chunks from the first token on. */
import type { ServerResponse } from 'node:http';
import type { OpaqueFields, TokenLogprob, ToolCall, Usage } from '../../../../src/protocol/agent/provider.ts';
import { errorBody, type HttpError } from '../../errors.ts';
import type { EventStream } from '../../event-stream.ts';

/** Reasons for the end of an answer, as OpenAI names them. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Receives an answer while it grows; every method may be called after the client has disconnected. */
export interface CompletionAnswer {
  /** Sends nothing before its end, so a text that is void may be taken back. */
  readonly whole: boolean;
  text: (delta: string, logprobs?: readonly TokenLogprob[]) => void;
  /** A call of one of the caller's tools. */
  toolCall: (call: ToolCall) => void;
  thinking: (delta: string) => void;
  /** All text so far was thinking. What a stream has sent stays where it is. */
  textWasThinking: () => void;
  /** The turn is queued: pings the client. */
  waiting: () => void;
  /** `fields` are what the model's server wants back with the answer. */
  finish: (reason: FinishReason, usage: Usage, fields?: OpaqueFields) => void;
  fail: (error: HttpError) => void;
}

/** The fields that all chunks of a completion share. */
export interface CompletionId {
  id: string;
  model: string;
  /** Epoch seconds. */
  created: number;
}

/** Writes chunks to an open stream. The JSON around a delta is made once per answer, not once per token. */
export function streamedAnswer(
  stream: EventStream,
  name: CompletionId,
  includeUsage: boolean,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
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
      const { function: called, ...own } = wireToolCall(call);
      const begin = { index, ...own, function: { name: called.name, arguments: '' } };
      const rest = { index, function: { arguments: called.arguments } };
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
    fail(error) {
      if (!stream.begun) {
        refuse(error);
        return;
      }
      stream.write(`data: ${JSON.stringify(errorBody(error))}\n\n`);
      stream.end();
    },
  };
}

function halves(chunk: string): [string, string] {
  const [before = '', after = ''] = chunk.split('"§"');
  return [before, after];
}

/** Collects the answer and sends it as one JSON body. */
export function wholeAnswer(
  outgoing: ServerResponse,
  name: CompletionId,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  let content = '';
  let thinking = '';
  const calls: ToolCall[] = [];
  let likelihoods: TokenLogprob[] | undefined;
  return {
    whole: true,
    text(delta, logprobs) {
      content += delta;
      if (logprobs !== undefined) (likelihoods ??= []).push(...logprobs);
    },
    toolCall: (call) => void calls.push(call),
    thinking: (delta) => void (thinking += delta),
    textWasThinking() {
      thinking += content;
      content = '';
    },
    waiting: () => undefined,
    finish(reason, usage, fields) {
      const message = {
        role: 'assistant',
        content: content === '' && calls.length > 0 ? null : content,
        ...(calls.length > 0 && { tool_calls: calls.map(wireToolCall) }),
        ...(thinking === '' ? {} : { reasoning_content: thinking }),
        ...fields,
        refusal: null,
      };
      const body = JSON.stringify({
        id: name.id,
        object: 'chat.completion',
        created: name.created,
        model: name.model,
        choices: [
          {
            index: 0,
            message,
            logprobs: likelihoods ? wireLogprobs(likelihoods) : null,
            finish_reason: reason,
          },
        ],
        usage: wireUsage(usage),
      });
      if (outgoing.destroyed || outgoing.headersSent) return;
      outgoing.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
    },
    fail: refuse,
  };
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
