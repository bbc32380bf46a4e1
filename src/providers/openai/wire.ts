/** The shapes of an OpenAI-compatible API: a request for POST /chat/completions, and its list of models. */
import { z } from 'zod';
import type {
  AnswerFormat,
  ChatMessage,
  ChatRequest,
  Embeddings,
  ReasoningEffort,
  ToolSchema,
} from '../../contracts/model/provider.ts';
import type { Picture } from '../../contracts/media.ts';
import type { RefusedFeature } from '../refusals.ts';
import { samplingOf } from '../sampling.ts';
import type { WireSampling } from '../sampling.ts';

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
  reasoning_content?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

type WirePart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

interface WireTool {
  type: 'function';
  function: ToolSchema;
}

/**
 * The window is the server's to set, so `contextWindow` is not sent. A server that accepts `chat_template_kwargs` is
 * always told whether to think; others refuse unknown fields and get a plain request.
 */
export function toWire(request: ChatRequest, can: { thinking: boolean }, stream: boolean): WireRequest {
  return {
    model: request.model,
    messages: request.messages.map((message) => toWireMessage(message, can.thinking)),
    stream,
    stream_options: stream ? { include_usage: true } : null,
    ...(request.tools !== undefined &&
      request.tools.length > 0 && {
        tools: toWireTools(request.tools),
      }),
    ...(can.thinking && { chat_template_kwargs: { enable_thinking: thinks(request) } }),
    ...toWireOptions(request),
  };
}

/** The body rewritten for a model that has refused a field of it. */
export function withRefused(body: WireRequest, refused: ReadonlySet<RefusedFeature>): WireRequest {
  const { max_tokens: limit, ...rest } = body;
  return limit === undefined || !refused.has('max_tokens') ? body : { ...rest, max_completion_tokens: limit };
}

function thinks({ think, reasoningEffort }: ChatRequest): boolean {
  return reasoningEffort === undefined ? (think ?? false) : reasoningEffort !== 'none';
}

function toWireOptions(request: ChatRequest): Partial<WireRequest> {
  const { maxTokens, logitBias, repeatPenalty, reasoningEffort, format, toolChoice } = request;
  const { parallelToolCalls, topLogprobs } = request;
  return {
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
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

function toWireMessage(message: ChatMessage, withThinking: boolean): WireMessage {
  if (message.role === 'tool') {
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  }
  if (message.role === 'user' && message.images !== undefined)
    return {
      role: 'user',
      content: [{ type: 'text', text: message.content }, ...message.images.map(toPart)],
    };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return { role: 'assistant', content: message.content };
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    // Only servers that think want a thought back, and only one that led to a call.
    ...(withThinking && message.thinking && { reasoning_content: message.thinking }),
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    })),
  };
}

function toPart({ mimeType, base64 }: Picture): WirePart {
  return { type: 'image_url', image_url: { url: `data:${mimeType};base64,${base64}` } };
}

/** The schemas are prepared once per profile, and so is their wire shape. */
const wireTools = new WeakMap<readonly ToolSchema[], WireTool[]>();

function toWireTools(tools: readonly ToolSchema[]): WireTool[] {
  const known = wireTools.get(tools);
  if (known !== undefined) return known;
  const made = tools.map((schema) => ({ type: 'function' as const, function: schema }));
  wireTools.set(tools, made);
  return made;
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
