/** The shapes of an OpenAI-compatible API: a request for POST /chat/completions, its events as chunks, its list of models. */
import type OpenAI from 'openai';
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import { newId } from '../../lib/ids.ts';
import type {
  ChatChunk,
  ChatMessage,
  ChatRequest,
  ToolCall,
  ToolSchema,
  Usage,
} from '../../contracts/provider.ts';

/** The body of POST /chat/completions; `chat_template_kwargs` is llama-server's and vLLM's. */
export interface WireRequest extends OpenAI.ChatCompletionCreateParamsStreaming {
  chat_template_kwargs?: { enable_thinking: boolean };
}

type WireMessage = OpenAI.ChatCompletionMessageParam & { reasoning_content?: string };

/**
 * The window is the server's to set, so `contextWindow` is not sent. A server that takes `chat_template_kwargs` always
 * hears whether to think; others refuse fields they do not know, and are asked plainly.
 */
export function toWire(request: ChatRequest, can: { thinking: boolean }): WireRequest {
  return {
    model: request.model,
    messages: request.messages.map((message) => toWireMessage(message, can.thinking)),
    stream: true,
    stream_options: { include_usage: true },
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
const wireTools = new WeakMap<readonly ToolSchema[], OpenAI.ChatCompletionTool[]>();

function toWireTools(tools: readonly ToolSchema[]): OpenAI.ChatCompletionTool[] {
  const known = wireTools.get(tools);
  if (known !== undefined) return known;
  const made = tools.map(({ name, description, parameters }) => ({
    type: 'function' as const,
    function: { name, description, parameters },
  }));
  wireTools.set(tools, made);
  return made;
}

const wireFragment = z.object({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});

const wireChunk = z.object({
  choices: z
    .array(
      z.object({
        delta: z
          .object({
            content: z.string().nullish(),
            reasoning_content: z.string().nullish(),
            reasoning: z.string().nullish(),
            tool_calls: z.array(wireFragment).nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: z.object({ prompt_tokens: z.number().nullish(), completion_tokens: z.number().nullish() }).nullish(),
  timings: z.object({ prompt_ms: z.number().nullish(), predicted_ms: z.number().nullish() }).nullish(),
});

const wholeAnswer = z.looseObject({
  choices: z.array(z.looseObject({ message: z.unknown(), finish_reason: z.string().nullish() })),
});

/** A whole answer as the one event that says it all. Throws `ProviderError('bad_response')`. */
export function eventOfWhole(answer: unknown): unknown {
  const parsed = wholeAnswer.safeParse(answer);
  if (!parsed.success) {
    const why = z.prettifyError(parsed.error);
    throw new ProviderError('bad_response', `The model server sent an answer of an unknown shape: ${why}`);
  }
  const choices = parsed.data.choices.map(({ message, finish_reason }) => ({
    delta: message,
    finish_reason,
  }));
  return { ...parsed.data, choices };
}

/** How much the tool calls of one answer may hold, in characters; what they are made of comes a character at a time. */
export const MAX_CALL_CHARS = 1024 * 1024;

/** Reads one answer: each event in, its chunks out; then `end` for what was gathered. Both throw `ProviderError('bad_response')`. */
export interface AnswerReader {
  read(event: unknown): ChatChunk[];
  end(): ChatChunk[];
}

export function createAnswerReader(): AnswerReader {
  const calls = new Map<number, { id: string; name: string; text: string }>();
  let callChars = 0;
  let finishReason: string | undefined;
  let usage: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

  const gather = ({ index, id, function: part }: z.infer<typeof wireFragment>): void => {
    const begins = Boolean(part?.name);
    const at = index ?? Math.max(0, begins ? calls.size : calls.size - 1);
    const call = calls.get(at) ?? { id: '', name: '', text: '' };
    call.id ||= id ?? '';
    call.name ||= part?.name ?? '';
    call.text += part?.arguments ?? '';
    calls.set(at, call);
    callChars += 1 + (id?.length ?? 0) + (part?.name?.length ?? 0) + (part?.arguments?.length ?? 0);
    if (callChars > MAX_CALL_CHARS) {
      throw new ProviderError('bad_response', `The model's tool calls exceed ${MAX_CALL_CHARS} characters.`);
    }
  };

  return {
    read(event) {
      const parsed = wireChunk.safeParse(event);
      if (!parsed.success) {
        const why = z.prettifyError(parsed.error);
        throw new ProviderError('bad_response', `The model server sent an event of an unknown shape: ${why}`);
      }
      const { choices, usage: counted, timings } = parsed.data;
      usage = {
        promptTokens: counted?.prompt_tokens ?? usage.promptTokens,
        completionTokens: counted?.completion_tokens ?? usage.completionTokens,
        modelMs: timings ? Math.round((timings.prompt_ms ?? 0) + (timings.predicted_ms ?? 0)) : usage.modelMs,
      };
      const choice = choices?.[0];
      finishReason = choice?.finish_reason ?? finishReason;
      for (const fragment of choice?.delta?.tool_calls ?? []) gather(fragment);
      const thinking = choice?.delta?.reasoning_content ?? choice?.delta?.reasoning;
      const chunks: ChatChunk[] = [];
      if (thinking) chunks.push({ type: 'thinking', delta: thinking });
      if (choice?.delta?.content) chunks.push({ type: 'text', delta: choice.delta.content });
      return chunks;
    },
    end() {
      if (finishReason === undefined) {
        const message = 'The model server ended its answer without a finish_reason.';
        throw new ProviderError('bad_response', message, { retryable: true });
      }
      const taken = new Set<string>();
      const called = [...calls.values()].map((call) => ({
        type: 'tool_call' as const,
        call: toToolCall(call, taken),
      }));
      const finished = called.length > 0 ? 'tool_calls' : 'stop';
      return [
        ...called,
        { type: 'done', finishReason: finishReason === 'length' ? 'length' : finished, usage },
      ];
    },
  };
}

/** Arguments cut by the limit of tokens, or no object, mark the call as malformed; none at all are an empty object. */
function toToolCall(call: { id: string; name: string; text: string }, taken: Set<string>): ToolCall {
  if (call.name === '') {
    throw new ProviderError('bad_response', 'The model asked for a tool without naming it.', {
      retryable: true,
    });
  }
  const id = call.id !== '' && !taken.has(call.id) ? call.id : `call_${newId()}`;
  taken.add(id);
  const args = call.text === '' ? {} : readArguments(call.text);
  return { id, name: call.name, args: args ?? {}, ...(args === undefined && { malformed: call.text }) };
}

const argsObject = z.record(z.string(), z.unknown());

function readArguments(text: string): Record<string, unknown> | undefined {
  try {
    return argsObject.safeParse(JSON.parse(text)).data;
  } catch {
    // Half a JSON: the model is told so by the caller.
    return undefined;
  }
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
