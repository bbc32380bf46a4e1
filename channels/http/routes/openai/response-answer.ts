/** One response as OpenAI's clients read it: whole, or as events from the first token on. */
import type { ServerResponse } from 'node:http';
import type { Usage } from '../../../../src/protocol/agent/provider.ts';
import type { HttpError } from '../../errors.ts';
import type { EventStream } from '../../event-stream.ts';
import type { CompletionAnswer, FinishReason } from './completion-answer.ts';
import { createItems, type Emit } from './response-items.ts';
import type { FunctionName } from './response-tools.ts';

/** What is known about a response before it begins: its id and the request's own fields, which it repeats. */
export interface ResponseHead {
  id: string;
  /** Epoch seconds. */
  created_at: number;
  model: string;
  /** Of the request, as it came. */
  asked: Record<string, unknown>;
  /** Functions in namespaces, by their names for the model. */
  names: ReadonlyMap<string, FunctionName>;
  /** Stores the finished response; false if it is not stored. Never throws. */
  keep(response: Record<string, unknown>): Promise<boolean>;
}

/** Writes events to an open stream. Each has a number; the first two say that the response has begun. */
export function streamedResponse(
  stream: EventStream,
  head: ResponseHead,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  let number = 0;
  const write: Emit = (type, body) => {
    const event = { type, ...body, sequence_number: number++ };
    stream.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const begin = (): void => {
    if (number > 0) return;
    const response = responseObject(head, 'in_progress', []);
    write('response.created', { response });
    write('response.in_progress', { response });
  };
  const items = createItems(head.id, head.names, (type, body) => {
    begin();
    write(type, body);
  });
  return {
    whole: false,
    text: items.text,
    thinking: items.thinking,
    // What a stream has sent stays where it is.
    textWasThinking: () => undefined,
    toolCall: items.toolCall,
    waiting() {
      begin();
      stream.write(': ping\n\n');
    },
    finish(reason, usage) {
      begin();
      items.close();
      // What a client knows to be complete can be referred to.
      void stored(head, endOf(head, reason, items.output, usage)).then((response) => {
        write(`response.${String(response['status'])}`, { response });
        stream.end();
      });
    },
    fail(error) {
      if (!stream.begun) {
        refuse(error);
        return;
      }
      const failed = { code: error.code, message: error.message };
      write('response.failed', {
        response: { ...responseObject(head, 'failed', items.output), error: failed },
      });
      stream.end();
    },
  };
}

/** Collects the response and sends it as one JSON body. */
export function wholeResponse(
  outgoing: ServerResponse,
  head: ResponseHead,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  const items = createItems(head.id, head.names, () => undefined);
  return {
    whole: true,
    text: items.text,
    thinking: items.thinking,
    textWasThinking: items.textWasThinking,
    toolCall: items.toolCall,
    waiting: () => undefined,
    finish(reason, usage) {
      items.close();
      void stored(head, endOf(head, reason, items.output, usage)).then((response) => {
        if (outgoing.destroyed || outgoing.headersSent) return;
        const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
        outgoing.writeHead(200, headers).end(JSON.stringify(response));
      });
    },
    fail: refuse,
  };
}

/** The response once it is stored; `store` says whether it is. */
async function stored(
  head: ResponseHead,
  response: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  return { ...response, store: await head.keep(response) };
}

/** Reasons why a response is incomplete, by the reason of its end. */
const INCOMPLETE: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

function endOf(
  head: ResponseHead,
  reason: FinishReason,
  output: readonly unknown[],
  usage: Usage,
): Record<string, unknown> {
  const why = INCOMPLETE[reason];
  return {
    ...responseObject(head, why === undefined ? 'completed' : 'incomplete', output),
    incomplete_details: why === undefined ? null : { reason: why },
    usage: {
      input_tokens: usage.promptTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: usage.completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.promptTokens + usage.completionTokens,
    },
  };
}

function responseObject(
  { id, created_at, model, asked }: ResponseHead,
  status: string,
  output: readonly unknown[],
): Record<string, unknown> {
  return {
    id,
    object: 'response',
    created_at,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    ...asked,
    model,
    output,
    usage: null,
  };
}
