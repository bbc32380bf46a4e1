/** `POST /v1/completions`: OpenAI's older route, whose prompt is asked as the only message of a chat. */
import { z } from 'zod';
import { errorBody, type FieldNames } from '../errors.ts';
import type { EventStream } from '../event-stream.ts';
import { sessionIdOf } from '../inbound.ts';
import { EVENT_STREAM, type Route, routeOf } from '../route.ts';
import {
  type AnswerWriter,
  collectedAnswer,
  type FinishReason,
  type Refuse,
  streamFailure,
} from './answer.ts';
import { answerCall, wantsGatewayTools } from './calls.ts';
import { completionId, type CompletionId, wireUsage } from './completion-answer.ts';
import { sessionInput, toContext } from './completion-messages.ts';
import { completionOptions, completionSchema } from './completions.ts';
import { COMPLETION_FIELDS, type FieldTable, supported, refusedField } from './fields.ts';

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

const TEXT_COMPLETION_FIELDS: FieldTable = {
  ...Object.fromEntries(Object.entries(COMPLETION_FIELDS).filter(([name]) => !OF_CHATS.has(name))),
  prompt: supported('one text; it is asked as a message'),
  suffix: refusedField('models are asked as in a chat', ''),
  echo: refusedField('the prompt is not repeated', false),
  best_of: refusedField('there is one answer', 1),
  logprobs: refusedField('use /v1/chat/completions'),
};

const FIELD_NAMES: FieldNames = {
  logitBias: 'logit_bias',
  reasoningEffort: 'reasoning_effort',
  format: 'response_format',
};

const route = routeOf('openai');

export const textCompletionRoutes: readonly Route[] = [
  route('POST', '/v1/completions', 'chat', {
    summary: 'The older text completions; with X-Session-Id in a session',
    description:
      'The prompt is asked as the only message of a chat. `suffix`, `echo`, `best_of`, `logprobs` and token ids are refused by name.',
    fields: TEXT_COMPLETION_FIELDS,
    body: completionSchema
      .omit({ messages: true, tools: true, tool_choice: true, parallel_tool_calls: true, logprobs: true })
      .extend({
        prompt: z
          .union([z.string(), z.tuple([z.string()])], 'must be one text; token ids are not supported')
          .transform((prompt) => [prompt].flat().join('')),
      }),
    others: [EVENT_STREAM],
    async handle(c, deps, read) {
      const { incoming, outgoing } = c.env;
      const { prompt, ...body } = await read();
      const messages = [{ role: 'user' as const, content: prompt }];
      const model = body.model ?? 'default';
      const name = (id: string) => completionId('cmpl', id, model);
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
        streamed: (id, stream, refuse) =>
          streamedText(stream, name(id), body.stream_options?.include_usage === true, refuse),
        whole: (id, refuse) =>
          collectedAnswer(outgoing, refuse, ({ text, reason, usage }) => ({
            ...textObject(name(id), text, reason),
            usage: wireUsage(usage),
          })),
        fieldNames: FIELD_NAMES,
      });
    },
  }),
];

/** The completion, or one chunk of it. */
function textObject({ id, created, model }: CompletionId, text: string, reason: FinishReason | null) {
  const choices = [{ text, index: 0, logprobs: null, finish_reason: reason }];
  return { id, object: 'text_completion', created, model, choices };
}

function streamedText(
  stream: EventStream,
  name: CompletionId,
  includeUsage: boolean,
  refuse: Refuse,
): AnswerWriter {
  const write = (body: object): void => stream.write(`data: ${JSON.stringify(body)}\n\n`);
  const usageField = includeUsage ? { usage: null } : {};
  return {
    whole: false,
    // This route has no place for thinking, nor for calls, which only chats ask for.
    thinking: () => undefined,
    toolCall: () => undefined,
    text: (delta) => write({ ...textObject(name, delta, null), ...usageField }),
    textWasThinking: () => undefined,
    waiting: () => stream.write(': ping\n\n'),
    finish(reason, usage) {
      write({ ...textObject(name, '', reason), ...usageField });
      if (includeUsage) write({ ...textObject(name, '', null), choices: [], usage: wireUsage(usage) });
      stream.write('data: [DONE]\n\n');
      stream.end();
    },
    fail: streamFailure(stream, refuse, (error) => write(errorBody(error))),
  };
}
