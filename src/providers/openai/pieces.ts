/** The parts of an OpenAI-compatible answer that come in pieces: tool calls, usage, the reason of its end. */
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import type { ChatChunk, ToolCall, Usage } from '../../contracts/provider.ts';
import { newId } from '../../lib/ids.ts';

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
type WireChunk = z.infer<typeof wireChunk>;

/** How much the tool calls of one answer may hold, in characters; what they are made of comes a character at a time. */
export const MAX_CALL_CHARS = 1024 * 1024;

/** What was received of one answer so far. */
export interface AnswerPieces {
  /** Takes an event of any shape and gives the chunks in it. */
  add(event: object): ChatChunk[];
  /** The tool calls and the closing chunk, once all events were added. */
  end(): ChatChunk[];
}

/** Puts an answer together from its events. Both methods throw `ProviderError('bad_response')`. */
export function createPieces(): AnswerPieces {
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
    add(event) {
      const { choices, usage: counted, timings } = parseChunk(event);
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

function parseChunk(event: object): WireChunk {
  const parsed = wireChunk.safeParse(event);
  if (parsed.success) return parsed.data;
  const why = z.prettifyError(parsed.error);
  throw new ProviderError('bad_response', `The model server sent an event of an unknown shape: ${why}`);
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
