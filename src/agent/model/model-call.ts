/** One streaming call to the model: chunks become events and add up to an answer (B-09, B-10, N-47…N-49). */
import type { EventBody } from '../../contracts/event.ts';
import { cleanText } from '../../lib/text.ts';
import type { ChatChunk, ChatRequest, LLMProvider, LLMResponse, Usage } from '../../contracts/provider.ts';
import { MAX_ANSWER_CHARS, MAX_CALLS_KEPT } from '../deps.ts';
import type { Reply } from '../state/reply.ts';
import { guardStream } from './stream-guard.ts';
import type { StreamLimits } from './stream-guard.ts';
import { reckonUsage } from '../state/turn-usage.ts';
import { whileRunning } from '../turn/while-running.ts';

export interface ModelCall {
  provider: LLMProvider;
  request: ChatRequest;
  msgId: string;
  reply: Reply;
  limits: StreamLimits;
  signal: AbortSignal;
  /** The prompt's tokens, as estimated. */
  promptTokens: number;
  /** Set at the first chunk: a stream that broke later had begun. */
  heard: boolean;
  /** What the call cost, once the model had begun: also when it broke. */
  spent?: Usage;
}

/**
 * Streams one answer: `stream_start`, thinking (begun and finished once, before the text), `stream_chunk`s. The reply
 * stays open: the caller ends it, or takes it back. What the server did not report of the usage is estimated. Throws
 * `ProviderError`, or the signal's reason.
 */
export async function* streamAnswer(call: ModelCall): AsyncGenerator<EventBody, LLMResponse> {
  const { msgId, reply } = call;
  const answer: LLMResponse = {
    content: '',
    thinking: '',
    toolCalls: [],
    finishReason: 'length',
    usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
  };
  let told: Usage | undefined;
  let thinking = false;
  let since = 0;
  reply.begin();
  yield { type: 'stream_start', msgId };
  try {
    const stream = yield* openStream(call);
    since = stream.since;
    for await (const chunk of readChunks(stream)) {
      call.heard = true;
      if (chunk.type === 'thinking') {
        const delta = cleanText(chunk.delta);
        if (!thinking && answer.thinking === '' && answer.content === '') {
          thinking = true;
          yield { type: 'thinking_started', msgId };
        }
        answer.thinking += delta;
        if (thinking) yield { type: 'thinking_delta', msgId, delta };
      } else {
        if (thinking) {
          thinking = false;
          yield { type: 'thinking_finished', msgId };
        }
        if (chunk.type === 'text' && chunk.delta !== '') {
          const words = cleanText(chunk.delta);
          answer.content += words;
          yield { type: 'stream_chunk', msgId, delta: reply.add(words) };
        } else if (chunk.type === 'tool_call' && answer.toolCalls.length < MAX_CALLS_KEPT) {
          answer.toolCalls.push(chunk.call);
        } else if (chunk.type === 'done') {
          answer.finishReason = chunk.finishReason;
          told = chunk.usage;
        }
      }
      if (answer.content.length + answer.thinking.length > MAX_ANSWER_CHARS) break;
    }
  } catch (error) {
    if (call.heard) call.spent = spentOn(call, answer, told, since);
    if (thinking) yield { type: 'thinking_finished', msgId };
    throw error;
  }
  if (thinking) yield { type: 'thinking_finished', msgId };
  answer.usage = call.spent = spentOn(call, answer, told, since);
  return answer;
}

function spentOn(call: ModelCall, answer: LLMResponse, told: Usage | undefined, since: number): Usage {
  const calls = answer.toolCalls.length === 0 ? '' : JSON.stringify(answer.toolCalls);
  const said = answer.thinking + answer.content + calls;
  return reckonUsage(told, { promptTokens: call.promptTokens, said, ms: performance.now() - since });
}

/** A call whose first chunk has come. */
export interface OpenStream {
  chunks: AsyncGenerator<ChatChunk, void>;
  first: IteratorResult<ChatChunk, void>;
  /** When the model began to work: without the wait for a place. */
  since: number;
}

/** Begins the call and waits for its first chunk; tells the user when it must wait for a place at the model. */
export async function* openStream(
  call: Pick<ModelCall, 'provider' | 'request' | 'limits' | 'signal'>,
): AsyncGenerator<EventBody, OpenStream> {
  return yield* whileRunning(async (emit) => {
    const asked = performance.now();
    let waited = false;
    const open = (signal: AbortSignal, queued: () => void): AsyncIterable<ChatChunk> => {
      const onQueued = (ahead: number): void => {
        queued();
        waited = true;
        emit({ type: 'notice', code: 'model_busy', text: busyText(ahead) });
      };
      return call.provider.streamChat({ ...call.request, onQueued }, signal);
    };
    const chunks = guardStream(open, call.signal, call.limits);
    const first = await chunks.next();
    return { chunks, first, since: waited ? performance.now() : asked };
  });
}

/** The chunks of an open call; ending the reading closes the connection. */
export async function* readChunks({ chunks, first }: OpenStream): AsyncGenerator<ChatChunk, void> {
  try {
    for (let next = first; next.done !== true; next = await chunks.next()) yield next.value;
  } finally {
    await chunks.return();
  }
}

function busyText(ahead: number): string {
  return `The model is busy: ${ahead === 0 ? 'your answer is next' : `${ahead} answers are before yours`}.`;
}
