/** The model servers of a plug-in's kind: every chat is a call to its process, whose chunks are checked one by one. */
import { z } from 'zod';
import { createFairQueue } from '../lib/async/fair-queue.ts';
import { isTooDeep } from '../lib/json/json.ts';
import { ProviderError, type ProviderErrorCode, toGatewayError } from '../protocol/errors.ts';
import type { ChatChunk, ChatMessage, ChatRequest, LLMProvider } from '../protocol/agent/provider.ts';
import type { PluginChatMessage, PluginChatRequest } from '../protocol/plugin.ts';
import { type CallPlugin } from './tools.ts';

/** How long a list of models and what one can do may take, in milliseconds. */
const ASK_MS = 10_000;
/** Longest answer; silence within it ends it sooner. */
const CHAT_MS = 3_600_000;
/** Chunks that the gateway has not read yet: a plug-in that floods loses the answer. */
const MAX_UNREAD_CHUNKS = 10_000;
/** Calls that may wait for a slot. */
const MAX_WAITING = 4_096;
const USUAL_CONCURRENCY = 32;

const CODES: readonly ProviderErrorCode[] = [
  'context_overflow',
  'unavailable',
  'rate_limited',
  'quota_exceeded',
  'unauthorized',
  'unknown_model',
  'bad_request',
  'bad_response',
];
const RETRYABLE: readonly ProviderErrorCode[] = ['unavailable', 'rate_limited', 'bad_response'];

const counts = z.object({ promptTokens: z.int().min(0), completionTokens: z.int().min(0) });
const chunkShape = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), delta: z.string() }),
  z.object({ type: z.literal('thinking'), delta: z.string() }),
  z.object({
    type: z.literal('tool_call'),
    call: z.object({
      id: z.string().min(1).max(200),
      name: z.string().min(1).max(200),
      args: z.record(z.string(), z.unknown()).refine((args) => !isTooDeep(args)),
    }),
  }),
  z.object({
    type: z.literal('done'),
    finishReason: z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'refusal']),
    usage: counts,
  }),
]);
const modelsShape = z.array(z.string().min(1).max(300)).max(10_000);
const capabilitiesShape = z.object({
  contextWindow: z.int().min(256).max(100_000_000),
  tools: z.boolean(),
  thinking: z.boolean(),
  vision: z.boolean(),
});
const embeddingsShape = z.object({
  vectors: z.array(z.array(z.number())),
  promptTokens: z.int().min(0).default(0),
});

/** One server of `providers` in `config.json`. */
export interface HostedServer {
  name: string;
  baseUrl: string;
  apiKey?: string | undefined;
  concurrency?: number;
}

/** Makes the provider; nothing is started before its first call. */
export function createHostedProvider(server: HostedServer, callPlugin: CallPlugin): LLMProvider {
  const { name, baseUrl, apiKey, concurrency = USUAL_CONCURRENCY } = server;
  const at = { baseUrl, apiKey };
  const slots = createFairQueue(concurrency, MAX_WAITING);
  const call: CallPlugin = async (method, args, options) => {
    try {
      return await callPlugin(`provider.${method}`, [at, ...args], options);
    } catch (error) {
      throw toProviderError(error, options.signal);
    }
  };
  const read = <T>(shape: z.ZodType<T>, value: unknown, method: string): T => {
    const { data, error } = shape.safeParse(value);
    if (data !== undefined) return data;
    throw new ProviderError('bad_response', `${method} of the plug-in breaks the contract.`, {
      retryable: true,
      cause: error,
    });
  };

  return {
    name,
    models: async (signal) =>
      read(modelsShape, await call('models', [], { signal, limitMs: ASK_MS }), 'models'),
    capabilities: async (model, signal) =>
      read(
        capabilitiesShape,
        await call('capabilities', [model], { signal, limitMs: ASK_MS }),
        'capabilities',
      ),
    async *streamChat(request, signal) {
      const leave = await enter(slots, request, signal);
      const end = new AbortController();
      try {
        const both = AbortSignal.any([signal, end.signal]);
        yield* chunksOf((onChunk) =>
          call('streamChat', [requestOf(request)], { signal: both, limitMs: CHAT_MS, onChunk }),
        );
      } finally {
        end.abort();
        leave();
      }
    },
    embed: async ({ model, input }, signal) =>
      read(embeddingsShape, await call('embed', [{ model, input }], { signal }), 'embed'),
    close: () => Promise.resolve(),
  };
}

async function enter(
  slots: ReturnType<typeof createFairQueue>,
  { userId = '', onQueued, onPlace }: ChatRequest,
  signal: AbortSignal,
): Promise<() => void> {
  let hasWaited = false;
  const entering = slots.enter(userId, signal, (ahead) => {
    hasWaited = true;
    onQueued?.(ahead);
  });
  const leave = await entering.catch((error: unknown) => {
    throw toProviderError(error, signal);
  });
  if (leave === undefined)
    throw new ProviderError('unavailable', 'Too many calls wait for this model server.', { retryable: true });
  try {
    if (hasWaited) await onPlace?.();
    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}

/** The chunks of a call as they arrive. Throws `ProviderError`. */
async function* chunksOf(
  start: (onChunk: (value: unknown) => void) => Promise<unknown>,
): AsyncGenerator<ChatChunk> {
  const chunks: unknown[] = [];
  let over: { error?: unknown } | undefined;
  let wake = Promise.withResolvers<void>();
  const began = performance.now();
  start((value) => {
    chunks.push(value);
    wake.resolve();
  })
    .then(
      () => (over = {}),
      (error: unknown) => (over = { error }),
    )
    .finally(() => wake.resolve());
  for (;;) {
    if (chunks.length > MAX_UNREAD_CHUNKS) throw broken('it sends faster than anyone reads');
    const [value] = chunks.splice(0, 1);
    if (value !== undefined) {
      const { data } = chunkShape.safeParse(value);
      if (data === undefined) throw broken('a chunk breaks the contract');
      if (data.type !== 'done') yield data;
      else {
        yield { ...data, usage: { ...data.usage, modelMs: Math.round(performance.now() - began) } };
        return;
      }
    } else if (over === undefined) {
      await wake.promise;
      wake = Promise.withResolvers<void>();
    } else if ('error' in over) throw over.error;
    else throw broken('it ended without "done"');
  }
}

function broken(reason: string): ProviderError {
  return new ProviderError('bad_response', `The plug-in's answer cannot be used: ${reason}.`, {
    retryable: true,
  });
}

/** Its own error is returned unchanged; everything unexpected counts as an outage of the server. */
function toProviderError(cause: unknown, signal: AbortSignal | undefined): ProviderError {
  if (cause instanceof ProviderError) return cause;
  if (signal?.aborted === true) return new ProviderError('aborted', 'The call was stopped.', { cause });
  const error = toGatewayError(cause);
  const fallback = error.code.startsWith('plugin_') ? 'unavailable' : 'bad_response';
  const code = CODES.find((one) => one === error.code) ?? fallback;
  const { retryAfterMs } = error;
  return new ProviderError(code, error.message, {
    retryable: RETRYABLE.includes(code),
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function requestOf(request: ChatRequest): PluginChatRequest {
  const {
    model,
    messages,
    tools = [],
    contextWindow,
    temperature,
    topP,
    maxTokens,
    stop,
    seed,
    think,
  } = request;
  return {
    model,
    messages: messages.map(messageOf),
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    contextWindow,
    temperature,
    topP,
    maxTokens,
    stop,
    seed,
    think,
  };
}

function messageOf(message: ChatMessage): PluginChatMessage {
  const { role, content } = message;
  if (role === 'user') {
    const more = message.more ?? [];
    const texts = [content, ...more.filter((one) => typeof one === 'string')];
    const images = [...(message.images ?? []), ...more.filter((one) => typeof one !== 'string')];
    return { role, content: texts.join('\n'), ...(images.length > 0 && { images }) };
  }
  if (role === 'assistant') {
    const calls = (message.toolCalls ?? []).map(({ id, name, args }) => ({ id, name, args }));
    return { role, content, ...(calls.length > 0 && { toolCalls: calls }) };
  }
  return role === 'tool'
    ? { role, content, toolCallId: message.toolCallId, toolName: message.toolName }
    : { role, content };
}
