/** The shapes of an OpenAI-compatible API: a request for POST /chat/completions, and its list of models. */
import { z } from 'zod';
import type { AnswerFormat, ChatMessage, ChatRequest, Embeddings } from '../../protocol/agent/provider.ts';
import type { Picture } from '../../protocol/media.ts';
import type { Omission } from '../../protocol/agent/omissions.ts';
import { samplingOf, toWireTools } from '../wire-fields.ts';
import { createEchoWriter, type EchoTarget, type EchoWriter } from './echo.ts';

interface WireMessage {
  role: ChatMessage['role'];
  content: string | WirePart[] | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

type WirePart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/**
 * The body of POST /chat/completions. `chat_template_kwargs` (llama-server, vLLM) tells whether to think if the server
 * accepts it; others refuse unknown fields. `repetition_penalty` is `repeat_penalty` for vLLM and OpenRouter. The
 * window is the server's to set, so `contextWindow` is not sent.
 */
export function toWire(
  request: ChatRequest,
  knowsThinking: boolean,
  stream: boolean,
  omitted: ReadonlySet<Omission>,
  target: EchoTarget,
) {
  const { think = false, reasoningEffort, maxTokens, toolChoice } = request;
  const enableThinking = reasoningEffort === undefined ? think : reasoningEffort !== 'none';
  const echo = createEchoWriter(request, target, omitted);
  return {
    model: request.model,
    messages: request.messages.map((message) => toWireMessage(message, echo)),
    stream,
    stream_options: stream ? { include_usage: true } : null,
    tools: toWireTools(request, true),
    chat_template_kwargs: knowsThinking ? { enable_thinking: enableThinking } : undefined,
    // A model that refuses the older name takes the newer one.
    [omitted.has('field:max_tokens') ? 'max_completion_tokens' : 'max_tokens']: maxTokens,
    ...samplingOf(request),
    repetition_penalty: request.repeatPenalty,
    logit_bias: request.logitBias,
    reasoning_effort: reasoningEffort,
    response_format: request.format && toWireFormat(request.format),
    tool_choice: typeof toolChoice === 'object' ? { type: 'function', function: toolChoice } : toolChoice,
    parallel_tool_calls: request.parallelToolCalls,
    logprobs: request.topLogprobs === undefined ? undefined : true,
    top_logprobs: request.topLogprobs,
  };
}

/** Fields that the gateway adds on its own: no answer depends on them. */
export const EXTRA_FIELDS = ['stream_options', 'chat_template_kwargs', 'parallel_tool_calls'] as const;
/** Fields that change the answer, and that a model may have its own value for. */
export const OPTION_FIELDS = [
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
] as const;

function toWireFormat(format: AnswerFormat): object {
  if (format.type === 'json_object') return format;
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}

function toWireMessage(message: ChatMessage, echo: EchoWriter): WireMessage {
  if (message.role === 'tool') {
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  }
  if (message.role === 'user' && message.images !== undefined) {
    const { content, images, more = [] } = message;
    return { role: 'user', content: [content, ...images, ...more].flatMap(toPart) };
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return { role: 'assistant', content: message.content, ...echo.ofMessage(message) };
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    ...echo.ofMessage(message),
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.args) },
      ...echo.ofCall(message, call),
    })),
  };
}

/** None for an empty text: servers refuse such a part. */
function toPart(part: string | Picture): WirePart[] {
  if (typeof part === 'string') return part === '' ? [] : [{ type: 'text', text: part }];
  return [{ type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.base64}` } }];
}

const modelList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: z.string().nullish(),
      meta: z.object({ n_ctx: z.number().nullish() }).nullish(),
      max_model_len: z.number().nullish(),
      context_length: z.number().nullish(),
    }),
  ),
});

/** A model as GET /models lists it; `window` is in tokens, if reported. */
export interface ListedModel {
  id: string;
  window: number | undefined;
  /** Whether the server accepts `chat_template_kwargs`. */
  thinking: boolean;
}

/** The models with their windows: `meta.n_ctx` (llama-server, per slot), `max_model_len` (vLLM) or `context_length`. */
export function readModels(listed: unknown): ListedModel[] {
  return modelList.parse(listed).data.map((model) => {
    const window = model.meta?.n_ctx ?? model.max_model_len ?? model.context_length ?? 0;
    return {
      id: model.id,
      window: window > 0 ? window : undefined,
      thinking: Boolean(model.meta) || /^(llamacpp|vllm)$/.test(model.owned_by ?? ''),
    };
  });
}

/** The entry a name means: the name itself, without its folder, or without the `latest` tag. */
export function findModel(models: readonly ListedModel[], name: string): ListedModel | undefined {
  return models.find(({ id }) => id === name || id === `${name}:latest` || id.endsWith(`/${name}`));
}

const embedded = z.object({
  data: z.array(z.object({ index: z.number().nullish(), embedding: z.array(z.number()) })),
  usage: z
    .object({ prompt_tokens: z.number().catch(0) })
    .nullish()
    .catch(undefined),
});

/** The vectors of POST /embeddings, in the order of their texts. Throws a `ZodError` for another shape. */
export function readEmbeddings(answer: unknown): Embeddings {
  const { data, usage } = embedded.parse(answer);
  const ordered = data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return { vectors: ordered.map(({ embedding }) => embedding), promptTokens: usage?.prompt_tokens ?? 0 };
}
