/** Ollama's shapes: a request as POST /api/chat wants it, and its lines as chunks of an answer. */
import type { ChatRequest as ClientRequest, Message, Tool } from 'ollama';
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import { newId } from '../../lib/ids.ts';
import type {
  ChatChunk,
  ChatMessage,
  ChatRequest,
  ModelCapabilities,
  ToolCall,
  ToolSchema,
} from '../../contracts/provider.ts';

/** The body of POST /api/chat; `truncate`, `shift` and the ids are on the wire but not in the client's types. */
export interface WireRequest extends ClientRequest {
  messages: Message[];
  stream: true;
  truncate: false;
  shift: false;
}

/**
 * One pinned option set per model: a changed `num_ctx` or `shift` reloads it. `truncate:false` and `shift:false` make an
 * over-long prompt an error (B-11), where the server would drop the oldest messages in silence. `keep_alive` is left to
 * the server: ending a call never unloads the model (N-64). What the model cannot do is not asked.
 */
export function toWire(request: ChatRequest, can: ModelCapabilities): WireRequest {
  return {
    model: request.model,
    messages: request.messages.map(toWireMessage),
    stream: true,
    truncate: false,
    shift: false,
    ...(can.tools &&
      request.tools !== undefined &&
      request.tools.length > 0 && { tools: toWireTools(request.tools) }),
    // Left out, a model that can think would: the flag is always said where it is known.
    ...(can.thinking && { think: request.think ?? false }),
    options: {
      num_ctx: request.contextWindow,
      ...(request.maxTokens !== undefined && { num_predict: request.maxTokens }),
      ...(request.temperature !== undefined && { temperature: request.temperature }),
    },
  };
}

function toWireMessage(message: ChatMessage): Message {
  if (message.role === 'tool') {
    const named = { tool_name: message.toolName, tool_call_id: message.toolCallId };
    return { role: 'tool', content: message.content, ...named };
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls ?? [];
  return {
    role: 'assistant',
    content: message.content,
    ...(message.thinking !== undefined && message.thinking !== '' && { thinking: message.thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({ id: call.id, function: { name: call.name, arguments: call.args } })),
    }),
  };
}

/** The schemas are prepared once per profile, so their wire shape is, too. */
const wireTools = new WeakMap<readonly ToolSchema[], Tool[]>();

function toWireTools(tools: readonly ToolSchema[]): Tool[] {
  const known = wireTools.get(tools);
  if (known !== undefined) return known;
  const made = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  wireTools.set(tools, made);
  return made;
}

const wireLine = z.object({
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().nullish(),
            function: z.object({ name: z.string(), arguments: z.unknown() }),
          }),
        )
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: z.number().nullish(),
  prompt_eval_duration: z.number().nullish(),
  eval_count: z.number().nullish(),
  eval_duration: z.number().nullish(),
});
type WireLine = z.infer<typeof wireLine>;

/** Makes the reader of one answer: each line in, its chunks out. Throws `ProviderError('bad_response')` on a line of another shape. */
export function createAnswerReader(): (line: unknown) => ChatChunk[] {
  const callIds = new Set<string>();
  return (line) => {
    const parsed = wireLine.safeParse(line);
    if (!parsed.success) {
      const why = z.prettifyError(parsed.error);
      throw new ProviderError('bad_response', `Ollama sent a line of an unknown shape: ${why}`);
    }
    const { message, done } = parsed.data;
    const chunks: ChatChunk[] = [];
    if (message?.thinking) chunks.push({ type: 'thinking', delta: message.thinking });
    if (message?.content) chunks.push({ type: 'text', delta: message.content });
    for (const call of message?.tool_calls ?? []) {
      chunks.push({ type: 'tool_call', call: toToolCall(call.id, call.function, callIds) });
    }
    if (done === true) chunks.push(toDone(parsed.data, callIds.size > 0));
    return chunks;
  };
}

/** Older servers give no ids, and nothing promises that theirs differ: each call gets one of its own. */
function toToolCall(
  id: string | null | undefined,
  asked: { name: string; arguments?: unknown },
  taken: Set<string>,
): ToolCall {
  const own = id && !taken.has(id) ? id : `call_${newId()}`;
  taken.add(own);
  const args = argsObject.safeParse(asked.arguments);
  if (args.success) return { id: own, name: asked.name, args: args.data };
  const given = asked.arguments;
  return {
    id: own,
    name: asked.name,
    args: {},
    malformed: typeof given === 'string' ? given : (JSON.stringify(given) ?? ''),
  };
}

const argsObject = z.record(z.string(), z.unknown());

/** Ollama ends an answer that calls tools with `stop`; durations come in nanoseconds, zero values not at all. */
function toDone(line: WireLine, calledTools: boolean): ChatChunk {
  const nanos = (line.prompt_eval_duration ?? 0) + (line.eval_duration ?? 0);
  const finished = calledTools ? 'tool_calls' : 'stop';
  return {
    type: 'done',
    finishReason: line.done_reason === 'length' ? 'length' : finished,
    usage: {
      promptTokens: line.prompt_eval_count ?? 0,
      completionTokens: line.eval_count ?? 0,
      modelMs: Math.round(nanos / 1e6),
    },
  };
}

const shownModel = z.object({
  model_info: z.record(z.string(), z.unknown()).nullish(),
  capabilities: z.array(z.string()).nullish(),
});

/** What POST /api/show says of a model; `contextWindow` is undefined when it does not say. */
export function readCapabilities(shown: unknown): Omit<ModelCapabilities, 'contextWindow'> & {
  contextWindow: number | undefined;
} {
  const { model_info: info, capabilities } = shownModel.parse(shown);
  const length = info?.[`${String(info['general.architecture'])}.context_length`];
  const can = (what: string): boolean => capabilities?.includes(what) ?? false;
  return {
    contextWindow: typeof length === 'number' && length > 0 ? length : undefined,
    tools: can('tools'),
    thinking: can('thinking'),
    vision: can('vision'),
  };
}

const modelList = z.object({
  models: z.array(z.object({ name: z.string(), context_length: z.number().nullish() })).nullish(),
});

/** The models GET /api/tags or GET /api/ps lists, with the window each is loaded with where it says. */
export function readModels(listed: unknown): { name: string; window: number | undefined }[] {
  const models = modelList.parse(listed).models ?? [];
  return models.map((model) => ({ name: model.name, window: model.context_length ?? undefined }));
}
