/** The routes of OpenAI's API that make and read answers. */
import { z } from 'zod';
import {
  type AnswerFormat,
  type CallerOptions,
  REASONING_EFFORTS,
} from '../../../src/protocol/agent/provider.ts';
import { MAX_LOGIT_BIASES, MAX_MESSAGES } from '../config.ts';
import type { FieldNames } from '../errors.ts';
import { endUserSchema, sessionIdOf } from '../inbound.ts';
import { EVENT_STREAM, type Route, routeOf } from '../route.ts';
import { answerCall, wantsGatewayTools } from './calls.ts';
import { completionId, streamedAnswer, wholeAnswer } from './completion-answer.ts';
import { instructionsOf, messageSchema, sessionInput, toContext } from './completion-messages.ts';
import { COMPLETION_FIELDS, invalid, unsupported } from './fields.ts';
import {
  localFields,
  localOptions,
  modelName,
  openRouterReasoning,
  stopTexts,
  tokenLimit,
  withoutNothing,
} from './local-fields.ts';
import {
  type Choice,
  functionSchema,
  schemaFormat,
  toFormat,
  toolOptions,
  toToolSchema,
} from './tool-fields.ts';

const FIELD_NAMES: FieldNames = {
  tools: 'tools',
  toolChoice: 'tool_choice',
  logitBias: 'logit_bias',
  topLogprobs: 'logprobs',
  reasoningEffort: 'reasoning_effort',
  format: 'response_format',
};

const namedFunction = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) });

const toolSchema = z.object({ type: z.literal('function', 'must be "function"'), function: functionSchema });

const choiceSchema = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    namedFunction,
    z.object({
      type: z.literal('allowed_tools'),
      allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(namedFunction) }),
    }),
  ],
  'must be none, auto, required, a function or allowed_tools',
);

const penalty = z.number().min(-2).max(2).nullish();

/** Fields beyond these have no effect: the table of fields knows which they are. */
export const completionSchema = z.object({
  ...localFields.shape,
  reasoning: openRouterReasoning.nullish(),
  model: modelName,
  // Counted before each is checked: a long list would stall the process.
  messages: z
    .array(z.unknown())
    .min(1, 'at least one message is needed')
    .max(MAX_MESSAGES, `at most ${MAX_MESSAGES} messages are accepted`)
    .pipe(z.array(messageSchema)),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  user: endUserSchema,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_tokens: tokenLimit,
  max_completion_tokens: tokenLimit,
  stop: stopTexts,
  seed: z.int().nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  logit_bias: z
    .record(z.string().regex(/^\d{1,10}$/, 'must be token ids'), z.number().min(-100).max(100))
    .nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  reasoning_effort: z.enum(REASONING_EFFORTS).nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({ type: z.literal('json_schema'), json_schema: schemaFormat }),
    ])
    .nullish(),
  tools: z.array(toolSchema).nullish(),
  tool_choice: choiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  /** Not in OpenAI's API: the plan mode of this turn, instead of the session's. */
  mode: z.string().nullish(),
});

/** A body that passed the schema. */
export type CompletionBody = z.infer<typeof completionSchema>;

const route = routeOf('openai');

export const completionRoutes: readonly Route[] = [
  route('POST', '/v1/chat/completions', 'chat', {
    summary: 'Chat completions; with X-Session-Id in a session',
    description:
      'Without a session, the messages are the whole context and nothing but usage is stored. With one, the last message is posted to it and the turn is the answer. An Idempotency-Key makes a repeat safe. A field that changes the answer is supported or refused by name.',
    body: completionSchema,
    fields: COMPLETION_FIELDS,
    carriesFiles: true,
    others: [EVENT_STREAM],
    async handle(c, deps, read) {
      const { incoming, outgoing } = c.env;
      const body = await read();
      const { messages, mode } = body;
      const model = body.model ?? 'default';
      const name = (id: string) => completionId('chatcmpl', id, model);
      return await answerCall(c, deps, {
        sessionId: sessionIdOf(incoming),
        user: body.user,
        model,
        stream: body.stream === true,
        options: completionOptions(body, wantsGatewayTools(incoming)),
        topLogprobs: logprobsOf(body),
        mode,
        context: () => toContext(messages),
        input: () => sessionInput(messages),
        instructions: () => instructionsOf(messages),
        streamed: (id, stream, refuse) =>
          streamedAnswer(stream, name(id), body.stream_options?.include_usage === true, refuse),
        whole: (id, refuse) => wholeAnswer(outgoing, name(id), refuse),
        fieldNames: FIELD_NAMES,
      });
    },
  }),
];

/** What the body asks of the answer; `gatewayTools` is what the header asks for. Throws `HttpError` 400. */
export function completionOptions(body: CompletionBody, gatewayTools: boolean): CallerOptions {
  const { temperature, top_p, stop, seed, presence_penalty, frequency_penalty, logit_bias, reasoning } = body;
  const biases = Object.keys(logit_bias ?? {}).length;
  if (biases > MAX_LOGIT_BIASES) {
    throw invalid('logit_bias', `at most ${MAX_LOGIT_BIASES} tokens are accepted`);
  }
  const tools = (body.tools ?? []).map((tool) => toToolSchema(tool.function));
  const options = withoutNothing({
    temperature,
    topP: top_p,
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    stop,
    seed,
    presencePenalty: presence_penalty,
    frequencyPenalty: frequency_penalty,
    logitBias: biases === 0 ? undefined : logit_bias,
    think: reasoning?.enabled,
    reasoningEffort: body.reasoning_effort ?? reasoning?.effort,
    format: formatOf(body.response_format),
    parallelToolCalls: body.parallel_tool_calls,
    ...toolOptions(tools, choiceOf(body.tool_choice), gatewayTools),
  });
  return { ...localOptions(body), ...options };
}

/** Alternatives to report with each token; undefined when likelihoods are not asked for. Throws `HttpError` 400. */
export function logprobsOf({ logprobs, top_logprobs: top }: CompletionBody): number | undefined {
  if (logprobs === true) return top ?? 0;
  if ((top ?? 0) > 0) throw unsupported('top_logprobs', 'it needs "logprobs": true');
  return undefined;
}

function formatOf(format: CompletionBody['response_format']): AnswerFormat | undefined {
  if (format == null || format.type === 'text') return undefined;
  return format.type === 'json_object' ? format : toFormat(format.json_schema);
}

function choiceOf(choice: CompletionBody['tool_choice']): Choice {
  if (choice == null) return 'auto';
  if (typeof choice === 'string') return choice;
  if (choice.type === 'function') return { name: choice.function.name };
  const { mode, tools } = choice.allowed_tools;
  return { mode, names: tools.map((tool) => tool.function.name) };
}
