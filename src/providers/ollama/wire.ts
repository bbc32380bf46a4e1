/** Ollama's shapes: a request as POST /api/chat wants it, and what the server says about its models. */
import { z } from 'zod';
import type {
  ChatMessage,
  ChatRequest,
  Embeddings,
  ModelCapabilities,
} from '../../protocol/agent/provider.ts';
import { UNKNOWN_WINDOW } from '../discovery.ts';
import { samplingOf, toWireTools } from '../wire-fields.ts';

interface WireMessage {
  role: ChatMessage['role'];
  content: string;
  /** Base64. */
  images?: string[];
  thinking?: string | undefined;
  tool_calls?: { id: string; function: { name: string; arguments: Record<string, unknown> } }[] | undefined;
  tool_name?: string;
  tool_call_id?: string;
}

/** Fields that a server may not know: they are left out only when it names them. */
export const OPTION_FIELDS = ['think', 'logprobs', 'top_logprobs'] as const;

/**
 * The body of POST /api/chat. One fixed option set per model: a changed `num_ctx` or `shift` reloads it. `truncate:false` and `shift:false` make
 * an over-long prompt an error (B-11), where the server would silently drop the oldest messages. `keep_alive` is left
 * to the server: ending a call never unloads the model (N-64). What the model cannot do is not requested.
 */
export function toWire(request: ChatRequest, can: ModelCapabilities) {
  return {
    model: request.model,
    messages: request.messages.map((message) => toWireMessage(message, request.echo ?? true)),
    stream: true,
    truncate: false,
    shift: false,
    tools: can.tools ? toWireTools(request, false) : undefined,
    // If omitted, a model that can think would: the flag is always sent where it is known.
    think: can.thinking ? thinkOf(request, can) : undefined,
    format: request.format?.type === 'json_schema' ? request.format.schema : request.format && 'json',
    logprobs: request.topLogprobs === undefined ? undefined : true,
    top_logprobs: request.topLogprobs,
    options: { num_ctx: request.contextWindow, num_predict: request.maxTokens, ...samplingOf(request) },
  };
}

/** The server refuses a level for models that only support yes and no. */
function thinkOf({ think, reasoningEffort: effort }: ChatRequest, can: ModelCapabilities) {
  if (effort === undefined) return think ?? false;
  if (effort === 'none') return false;
  if (can.thinkingLevels !== true) return effort !== 'minimal';
  if (effort === 'minimal') return 'low';
  return effort === 'low' || effort === 'medium' ? effort : 'high';
}

function toWireMessage(message: ChatMessage, echo: boolean): WireMessage {
  if (message.role === 'tool') {
    const { content, toolName, toolCallId } = message;
    return { role: 'tool', content, tool_name: toolName, tool_call_id: toolCallId };
  }
  if (message.role === 'user' && message.images !== undefined) {
    const parts = [message.content, ...message.images, ...(message.more ?? [])];
    const texts = parts.flatMap((part) => (typeof part === 'string' && part !== '' ? [part] : []));
    const images = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.base64]));
    return { role: 'user', content: texts.join('\n\n'), images };
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls ?? [];
  // Thoughts that came with an echo are those of another server.
  const { thinking } = echo && message.echo?.from === undefined ? message : {};
  return {
    role: 'assistant',
    content: message.content,
    thinking: thinking || undefined,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(({ id, name, args }) => ({ id, function: { name, arguments: args } })),
  };
}

/** Architectures that accept a level for `think`. */
const LEVELS_OF_THINKING: ReadonlySet<string> = new Set(['gptoss', 'gpt-oss']);

const shownModel = z.object({
  model_info: z.record(z.string(), z.unknown()).nullish(),
  capabilities: z.array(z.string()).nullish(),
});

/** What POST /api/show says about a model. Throws a `ZodError` for an answer of another shape. */
export function readCapabilities(answer: unknown): ModelCapabilities {
  const { model_info: info, capabilities } = shownModel.parse(answer);
  const architecture = String(info?.['general.architecture']);
  const length = info?.[`${architecture}.context_length`];
  const can = (ability: string): boolean => capabilities?.includes(ability) ?? false;
  return {
    ...(typeof length === 'number' && length > 0
      ? { contextWindow: length }
      : { contextWindow: UNKNOWN_WINDOW, windowGuessed: true }),
    tools: can('tools'),
    thinking: can('thinking'),
    thinkingLevels: LEVELS_OF_THINKING.has(architecture),
    vision: can('vision'),
    chat: capabilities ? can('completion') : undefined,
    ...(can('embedding') && { embeds: true as const }),
    unsupported: can('thinking') ? ['logitBias'] : ['logitBias', 'reasoningEffort'],
  };
}

const modelList = z.object({
  models: z.array(z.object({ name: z.string(), context_length: z.number().nullish() })).nullish(),
});

/** The models GET /api/tags or GET /api/ps lists, with the window each is loaded with, if reported. */
export function readModels(listed: unknown): { name: string; window: number | undefined }[] {
  const models = modelList.parse(listed).models ?? [];
  return models.map((model) => ({ name: model.name, window: model.context_length ?? undefined }));
}

const embedded = z.object({
  embeddings: z.array(z.array(z.number())),
  prompt_eval_count: z.number().nullish().catch(undefined),
});

/** The vectors POST /api/embed returns. Throws a `ZodError` for an answer of another shape. */
export function readEmbeddings(answer: unknown): Embeddings {
  const { embeddings, prompt_eval_count: tokens } = embedded.parse(answer);
  return { vectors: embeddings, promptTokens: tokens ?? 0 };
}
