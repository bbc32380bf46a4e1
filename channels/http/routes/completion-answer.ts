/** One chat completion as OpenAI clients read it: whole, or in chunks from the first token on. */
import type { ServerResponse } from 'node:http';
import type { Usage } from '../../../src/contracts/provider.ts';
import { errorBody } from '../errors.ts';
import type { HttpError } from '../errors.ts';
import type { EventStream } from '../event-stream.ts';

/** Reasons for the end of an answer, as OpenAI names them. */
export type FinishReason = 'stop' | 'length';

/** Receives an answer while it grows; every method may be called after the client has disconnected. */
export interface CompletionAnswer {
  text: (delta: string) => void;
  thinking: (delta: string) => void;
  /** The turn is queued: pings the client. */
  waiting: () => void;
  finish: (reason: FinishReason, usage: Usage) => void;
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
  const chunk = (delta: string, finish: string): string =>
    `${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${usageField}}\n\n`;
  const [textHead, tail] = halves(chunk('{"content":"§"}', 'null'));
  const [thinkingHead] = halves(chunk('{"reasoning_content":"§"}', 'null'));
  let opening = chunk('{"role":"assistant","content":""}', 'null');
  const writeChunks = (frame: string): void => {
    stream.write(opening + frame);
    opening = '';
  };
  return {
    text: (delta) => writeChunks(textHead + JSON.stringify(delta) + tail),
    thinking: (delta) => writeChunks(thinkingHead + JSON.stringify(delta) + tail),
    waiting: () => stream.write(': ping\n\n'),
    finish(reason, usage) {
      const last = includeUsage
        ? `${head},"choices":[],"usage":${JSON.stringify(wireUsage(usage))}}\n\n`
        : '';
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
  return {
    text: (delta) => void (content += delta),
    thinking: (delta) => void (thinking += delta),
    waiting: () => undefined,
    finish(reason, usage) {
      const message = {
        role: 'assistant',
        content,
        ...(thinking === '' ? {} : { reasoning_content: thinking }),
        refusal: null,
      };
      const body = JSON.stringify({
        id: name.id,
        object: 'chat.completion',
        created: name.created,
        model: name.model,
        choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
        usage: wireUsage(usage),
      });
      if (outgoing.destroyed || outgoing.headersSent) return;
      outgoing.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
    },
    fail: refuse,
  };
}

function wireUsage({ promptTokens, completionTokens }: Usage): Record<string, number> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
