/** One streaming call to the model: chunks become events and add up to an answer (B-09, B-10, N-47…N-49). */
import { cleanText } from '../../lib/text.ts';
import type { ChatChunk, ChatRequest, LLMProvider, LLMResponse, Usage } from '../../contracts/provider.ts';
import { MAX_ANSWER_CHARS, MAX_CALLS_KEPT } from '../deps.ts';
import type { Emit } from '../deps.ts';
import type { Reply } from '../state/reply.ts';
import { guardStream } from './stream-guard.ts';
import type { StreamLimits } from './stream-guard.ts';
import { completeUsage } from './call-usage.ts';

/** One call: what stays the same for its repeats, and what is known of it while it runs. */
export interface ModelCall {
  provider: LLMProvider;
  msgId: string;
  reply: Reply;
  limits: StreamLimits;
  signal: AbortSignal;
  /** Set at the first chunk: a stream that broke later had begun. */
  heard: boolean;
  /** Cost of the call, once the model had begun: also when it broke. */
  spent?: Usage;
}

/** The question to the model; `promptTokens` are the prompt's, as estimated. */
export interface ModelQuestion {
  request: ChatRequest;
  promptTokens: number;
}

/**
 * Streams one answer: `stream_start`, thinking (begun and finished once, before the text), `stream_chunk`s. The reply
 * stays open: the caller ends it, or takes it back. What the server did not report of the usage is estimated. Throws
 * `ProviderError`, or the signal's reason.
 */
export async function streamAnswer(
  call: ModelCall,
  { request, promptTokens }: ModelQuestion,
  emit: Emit,
): Promise<LLMResponse> {
  const { msgId, reply } = call;
  const answer: LLMResponse = {
    content: '',
    thinking: '',
    toolCalls: [],
    finishReason: 'length',
    usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
  };
  let reported: Usage | undefined;
  let thinking = false;
  reply.openCall();
  emit({ type: 'stream_start', msgId });
  const stream = openStream({ ...call, request }, emit);
  const spent = (): Usage => {
    const calls = answer.toolCalls.length === 0 ? '' : JSON.stringify(answer.toolCalls);
    const said = answer.thinking + answer.content + calls;
    return completeUsage(reported, { promptTokens, said, ms: performance.now() - stream.since });
  };
  try {
    for await (const chunk of stream.chunks) {
      call.heard = true;
      if (chunk.type === 'thinking') {
        const delta = cleanText(chunk.delta);
        if (!thinking && answer.thinking === '' && answer.content === '') {
          thinking = true;
          emit({ type: 'thinking_started', msgId });
        }
        answer.thinking += delta;
        if (thinking) emit({ type: 'thinking_delta', msgId, delta });
      } else {
        if (thinking) {
          thinking = false;
          emit({ type: 'thinking_finished', msgId });
        }
        if (chunk.type === 'text' && chunk.delta !== '') {
          const words = cleanText(chunk.delta);
          answer.content += words;
          emit({ type: 'stream_chunk', msgId, delta: reply.addText(words) });
        } else if (chunk.type === 'tool_call' && answer.toolCalls.length < MAX_CALLS_KEPT) {
          answer.toolCalls.push(chunk.call);
        } else if (chunk.type === 'done') {
          answer.finishReason = chunk.finishReason;
          reported = chunk.usage;
        }
      }
      if (answer.content.length + answer.thinking.length > MAX_ANSWER_CHARS) break;
    }
  } catch (error) {
    if (call.heard) call.spent = spent();
    if (thinking) emit({ type: 'thinking_finished', msgId });
    throw error;
  }
  if (thinking) emit({ type: 'thinking_finished', msgId });
  answer.usage = call.spent = spent();
  return answer;
}

/** A call that is being read. */
export interface OpenStream {
  /** Ending the reading closes the connection. */
  chunks: AsyncIterable<ChatChunk>;
  /** Start of the model's work, by `performance.now()`; for a call that waited for a place, its first chunk. */
  since: number;
}

/** Makes a call whose silence ends it; tells the user when it must wait for a place at the model. */
export function openStream(
  call: Pick<ModelCall, 'provider' | 'limits' | 'signal'> & Pick<ModelQuestion, 'request'>,
  emit: Emit,
): OpenStream {
  let queued = false;
  const open = (signal: AbortSignal, noteQueued: () => void): AsyncIterable<ChatChunk> => {
    const onQueued = (ahead: number): void => {
      noteQueued();
      queued = true;
      emit({ type: 'notice', code: 'model_busy', text: busyText(ahead) });
    };
    return call.provider.streamChat({ ...call.request, onQueued }, signal);
  };
  const onFirstChunk = (): void => {
    if (queued) stream.since = performance.now();
  };
  const chunks = guardStream(open, call.signal, call.limits, onFirstChunk);
  const stream: OpenStream = { chunks, since: performance.now() };
  return stream;
}

function busyText(ahead: number): string {
  return `The model is busy: ${ahead === 0 ? 'your answer is next' : `${ahead} answers are before yours`}.`;
}
