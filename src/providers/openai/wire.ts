/** The shapes of an OpenAI-compatible API: a request for POST /chat/completions, and its list of models. */
import { z } from 'zod';
import type { ChatMessage, ChatRequest, ToolSchema } from '../../contracts/provider.ts';

/** The body of POST /chat/completions; `chat_template_kwargs` is llama-server's and vLLM's. */
export interface WireRequest {
  model: string;
  messages: WireMessage[];
  tools?: WireTool[];
  stream: boolean;
  stream_options: { include_usage: true } | null;
  max_tokens?: number;
  temperature?: number;
  chat_template_kwargs?: { enable_thinking: boolean };
}

interface WireMessage {
  role: ChatMessage['role'];
  content: string | null;
  reasoning_content?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

interface WireTool {
  type: 'function';
  function: ToolSchema;
}

/**
 * The window is the server's to set, so `contextWindow` is not sent. A server that takes `chat_template_kwargs` always
 * hears whether to think; others refuse fields they do not know, and are asked plainly.
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
    ...(can.thinking && { chat_template_kwargs: { enable_thinking: request.think ?? false } }),
    ...(request.maxTokens !== undefined && { max_tokens: request.maxTokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
  };
}

function toWireMessage(message: ChatMessage, withThinking: boolean): WireMessage {
  if (message.role === 'tool') {
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return { role: 'assistant', content: message.content };
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    // Only the thought that led to a call is asked for again, and only by servers that think.
    ...(withThinking && message.thinking && { reasoning_content: message.thinking }),
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    })),
  };
}

/** The schemas are prepared once per profile, so their wire shape is, too. */
const wireTools = new WeakMap<readonly ToolSchema[], WireTool[]>();

function toWireTools(tools: readonly ToolSchema[]): WireTool[] {
  const known = wireTools.get(tools);
  if (known !== undefined) return known;
  const made = tools.map(({ name, description, parameters }) => ({
    type: 'function' as const,
    function: { name, description, parameters },
  }));
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

/** A model as GET /models lists it; `window` is in tokens, where the server says. */
export interface ListedModel {
  id: string;
  window: number | undefined;
  /** Whether the server takes `chat_template_kwargs`. */
  thinking: boolean;
}

/** Reads the list: llama-server tells the window as `meta.n_ctx` (that of one slot), vLLM as `max_model_len`, others as `context_length`. */
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
