/** The shapes of an OpenAI-compatible API: a request for POST /chat/completions, and its list of models. */
import { z } from 'zod';
import type {
  AnswerFormat,
  ChatMessage,
  ChatRequest,
  Embeddings,
  ReasoningEffort,
} from '../../protocol/agent/provider.ts';
import type { Picture } from '../../protocol/media.ts';
import type { Omission } from '../../protocol/agent/omissions.ts';
import { samplingOf, type WireSampling } from '../sampling.ts';
import { toWireTools, type WireTool } from '../wire-tools.ts';
import { createEchoWriter, type EchoTarget, type EchoWriter } from './echo.ts';

/** The body of POST /chat/completions; `chat_template_kwargs` is llama-server's and vLLM's. */
export interface WireRequest extends WireSampling {
  model: string;
  messages: WireMessage[];
  tools?: WireTool[];
  stream: boolean;
  stream_options: { include_usage: true } | null;
  max_tokens?: number;
  /** What newer OpenAI models accept instead of `max_tokens`. */
  max_completion_tokens?: number;
  logit_bias?: Record<string, number>;
  /** vLLM's and OpenRouter's name of `repeat_penalty`. */
  repetition_penalty?: number;
  reasoning_effort?: ReasoningEffort;
  response_format?: object;
  tool_choice?: 'required' | { type: 'function'; function: { name: string } };
  parallel_tool_calls?: boolean;
  logprobs?: true;
  top_logprobs?: number;
  chat_template_kwargs?: { enable_thinking: boolean };
}

interface WireMessage {
  role: ChatMessage['role'];
  content: string | WirePart[] | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

type WirePart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/**
 * The window is the server's to set, so `contextWindow` is not sent. A server that accepts `chat_template_kwargs` is
 * always told whether to think; others refuse unknown fields and get a plain request.
 */
export function toWire(
  request: ChatRequest,
  can: { thinking: boolean },
  { stream, omitted, target }: { stream: boolean; omitted: ReadonlySet<Omission>; target: EchoTarget },
): WireRequest {
  const tools = toWireTools(request, { knowsStrict: true });
  const back = createEchoWriter(request.messages, target, { echo: request.echo, omitted });
  return {
    model: request.model,
    messages: request.messages.map((message) => toWireMessage(message, back)),
    stream,
    stream_options: stream ? { include_usage: true } : null,
    ...(tools !== undefined && { tools }),
    ...(can.thinking && { chat_template_kwargs: { enable_thinking: thinks(request) } }),
    ...toWireOptions(request, omitted),
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

function thinks({ think, reasoningEffort }: ChatRequest): boolean {
  return reasoningEffort === undefined ? (think ?? false) : reasoningEffort !== 'none';
}

function toWireOptions(request: ChatRequest, omitted: ReadonlySet<Omission>): Partial<WireRequest> {
  const { maxTokens, logitBias, repeatPenalty, reasoningEffort, format, toolChoice } = request;
  const { parallelToolCalls, topLogprobs } = request;
  return {
    // A model that refuses the older name takes the newer one.
    ...(maxTokens !== undefined && {
      [omitted.has('field:max_tokens') ? 'max_completion_tokens' : 'max_tokens']: maxTokens,
    }),
    ...samplingOf(request),
    ...(repeatPenalty !== undefined && { repetition_penalty: repeatPenalty }),
    ...(logitBias !== undefined && { logit_bias: logitBias }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort }),
    ...(format !== undefined && { response_format: toWireFormat(format) }),
    ...(toolChoice !== undefined && {
      tool_choice: toolChoice === 'required' ? toolChoice : { type: 'function', function: toolChoice },
    }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
    ...(topLogprobs !== undefined && { logprobs: true, top_logprobs: topLogprobs }),
  };
}

function toWireFormat(format: AnswerFormat): object {
  if (format.type === 'json_object') return format;
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}

function toWireMessage(message: ChatMessage, back: EchoWriter): WireMessage {
  if (message.role === 'tool') {
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  }
  if (message.role === 'user' && message.images !== undefined) {
    const { content, images, more = [] } = message;
    return { role: 'user', content: [content, ...images, ...more].flatMap(toPart) };
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return { role: 'assistant', content: message.content, ...back.ofMessage(message) };
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    ...back.ofMessage(message),
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.args) },
      ...back.ofCall(message, call),
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

/**
 * Reads the list: llama-server reports the window as `meta.n_ctx` (that of one slot), vLLM as `max_model_len`, others
 * as `context_length`.
 */
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

/**
 * The vectors POST /embeddings returns, in the order of their texts. Throws a `ZodError` for an answer of another
 * shape.
 */
export function readEmbeddings(answer: unknown): Embeddings {
  const { data, usage } = embedded.parse(answer);
  const ordered = data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return { vectors: ordered.map(({ embedding }) => embedding), promptTokens: usage?.prompt_tokens ?? 0 };
}
