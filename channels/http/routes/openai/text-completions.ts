/** `POST /v1/completions`: OpenAI's older route, whose prompt is asked as the only message of a chat. */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { timeOf } from '../../../../src/lib/ids.ts';
import type { Usage } from '../../../../src/protocol/agent/provider.ts';
import { readFields } from '../../body.ts';
import { errorBody, type FieldNames, type HttpError } from '../../errors.ts';
import type { EventStream } from '../../event-stream.ts';
import { sessionIdOf } from '../../inbound.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { answerCall } from './answer-call.ts';
import { refuser, wantsGatewayTools } from './api-call.ts';
import {
  type CompletionAnswer,
  type CompletionId,
  type FinishReason,
  wireUsage,
} from './completion-answer.ts';
import { sessionInput, toContext } from './completion-messages.ts';
import { completionOptions, completionSchema } from './completion-request.ts';
import { COMPLETION_FIELDS, type FieldTable } from './fields.ts';

/** Fields of chat completions that this route does not have. */
const OF_CHATS = new Set([
  'messages',
  'audio',
  'function_call',
  'functions',
  'modalities',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'top_logprobs',
  'logprobs',
  'max_completion_tokens',
  'web_search_options',
]);

/** The fields. */
const TEXT_COMPLETION_FIELDS: FieldTable = {
  ...Object.fromEntries(Object.entries(COMPLETION_FIELDS).filter(([name]) => !OF_CHATS.has(name))),
  prompt: { use: 'honoured', note: 'one text; it is asked as a message' },
  suffix: { use: 'refused', note: 'models are asked as in a chat', unless: [''] },
  echo: { use: 'refused', note: 'the prompt is not repeated', unless: [false] },
  best_of: { use: 'refused', note: 'there is one answer', unless: [1] },
  logprobs: { use: 'refused', note: 'use /v1/chat/completions' },
};

/** The body. */
export const textCompletionSchema = completionSchema
  .omit({ messages: true, tools: true, tool_choice: true, parallel_tool_calls: true, logprobs: true })
  .extend({
    prompt: z
      .union([z.string(), z.tuple([z.string()])], 'must be one text; token ids are not supported')
      .transform((prompt) => [prompt].flat().join('')),
  });

const FIELD_NAMES: FieldNames = {
  logitBias: 'logit_bias',
  reasoningEffort: 'reasoning_effort',
  format: 'response_format',
};

/** Answers the call. Throws `HttpError` for an invalid request. */
export async function textCompletions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const rules = { table: TEXT_COMPLETION_FIELDS, schema: textCompletionSchema };
  const { prompt, ...body } = await readFields(incoming, outgoing, rules);
  const messages = [{ role: 'user' as const, content: prompt }];
  const model = body.model ?? 'default';
  const name = (id: string): CompletionId => ({
    id: `cmpl-${id}`,
    model,
    created: Math.floor(timeOf(id) / 1_000),
  });
  return await answerCall(c, deps, {
    sessionId: sessionIdOf(incoming),
    user: body.user,
    model,
    stream: body.stream === true,
    options: completionOptions({ ...body, messages }, wantsGatewayTools(incoming)),
    mode: body.mode,
    context: () => toContext(messages),
    input: () => sessionInput(messages),
    instructions: () => undefined,
    open() {
      const refuse = refuser(outgoing, deps);
      if (body.stream !== true) return (id) => wholeText(outgoing, name(id), refuse);
      const authorization = incoming.headers.authorization ?? '';
      const stream = deps.streams.add({ caller: c.get('caller'), authorization }, outgoing);
      const includeUsage = body.stream_options?.include_usage === true;
      return (id) => streamedText(stream, name(id), includeUsage, refuse);
    },
    fieldNames: FIELD_NAMES,
  });
}

/** The completion, or one chunk of it. */
function textObject({ id, created, model }: CompletionId, text: string, reason: FinishReason | null) {
  const choices = [{ text, index: 0, logprobs: null, finish_reason: reason }];
  return { id, object: 'text_completion', created, model, choices };
}

/** This route has no place for thinking, nor for calls, which only chats ask for. */
const TEXT_ONLY: Pick<CompletionAnswer, 'thinking' | 'toolCall'> = {
  thinking: () => undefined,
  toolCall: () => undefined,
};

function streamedText(
  stream: EventStream,
  name: CompletionId,
  includeUsage: boolean,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  const write = (body: object): void => stream.write(`data: ${JSON.stringify(body)}\n\n`);
  const usageField = includeUsage ? { usage: null } : {};
  return {
    ...TEXT_ONLY,
    whole: false,
    text: (delta) => write({ ...textObject(name, delta, null), ...usageField }),
    textWasThinking: () => undefined,
    waiting: () => stream.write(': ping\n\n'),
    finish(reason, usage) {
      write({ ...textObject(name, '', reason), ...usageField });
      if (includeUsage) write({ ...textObject(name, '', null), choices: [], usage: wireUsage(usage) });
      stream.write('data: [DONE]\n\n');
      stream.end();
    },
    fail(error) {
      if (!stream.begun) {
        refuse(error);
        return;
      }
      write(errorBody(error));
      stream.end();
    },
  };
}

function wholeText(
  outgoing: ServerResponse,
  name: CompletionId,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  let text = '';
  return {
    ...TEXT_ONLY,
    whole: true,
    text: (delta) => void (text += delta),
    textWasThinking: () => void (text = ''),
    waiting: () => undefined,
    finish(reason: FinishReason, usage: Usage) {
      const body = JSON.stringify({ ...textObject(name, text, reason), usage: wireUsage(usage) });
      if (outgoing.destroyed || outgoing.headersSent) return;
      outgoing.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
    },
    fail: refuse,
  };
}
