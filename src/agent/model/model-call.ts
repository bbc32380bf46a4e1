/** One streaming call to the model: chunks become events and add up to an answer (B-09, B-10, N-47…N-49). */
import { cleanText } from '../../lib/text.ts';
import type {
  ChatChunk,
  ChatRequest,
  ChatProvider,
  Echo,
  LLMResponse,
  ToolCall,
  Usage,
} from '../../protocol/agent/provider.ts';
import { type Emit, MAX_ANSWER_CHARS, MAX_CALLS_KEPT } from '../deps.ts';
import type { Reply } from '../state/reply.ts';
import type { Omission } from '../../protocol/agent/omissions.ts';
import { completeUsage } from './call-usage.ts';
import { type StreamLimits, StreamWatchdog } from './stream-watchdog.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import type { LastingNote } from '../../lib/async/lasting-note.ts';

/** One call: what stays the same when it is repeated, and what is known about it so far. */
export interface ModelCall {
  provider: ChatProvider;
  msgId: string;
  reply: Reply;
  limits: StreamLimits;
  signal: AbortSignal;
  /**
   * Notes in the turn's lane that the turn only waits for a place; undefined where other work continues alongside the
   * call.
   */
  waits?: LastingNote | undefined;
  /** Told what the server is not sent because it refuses it; undefined where nobody is. */
  onOmissions?: ((omissions: readonly Omission[]) => void) | undefined;
  /** Set at the first chunk: also true of a stream that broke later. */
  begun: boolean;
  /** Milliseconds from the request to the first chunk. */
  firstTokenMs?: number | undefined;
  /** Usage of the call once the model had begun, also when the stream broke. */
  usage?: Usage;
}

/** The request, with the estimated tokens of its prompt. */
export interface EstimatedRequest {
  request: ChatRequest;
  promptTokens: number;
}

/**
 * Streams one answer: `stream_start`, thinking (started and finished once, before the text), `stream_chunk`s. The reply
 * stays open: the caller closes or discards it. Usage that the server did not report is estimated. Throws
 * `ProviderError`, or the signal's reason.
 */
export async function streamAnswer(
  call: ModelCall,
  { request, promptTokens }: EstimatedRequest,
  emit: Emit,
): Promise<LLMResponse> {
  const { msgId, reply } = call;
  reply.openCall();
  emit({ type: 'stream_start', msgId });
  const answer = new StreamingAnswer(call, emit);
  const watchdog = new StreamWatchdog(call.signal, call.limits);
  const measure = (): Usage => (call.usage = answer.usage(promptTokens, watchdog.startedAt));
  try {
    const queueable = withQueueNotice(request, { watchdog, waits: call.waits }, emit);
    const { onOmissions } = call;
    const sent = onOmissions === undefined ? queueable : { ...queueable, onOmissions };
    await watchdog.guard(async (signal) => {
      for await (const chunk of call.provider.streamChat(sent, signal)) {
        watchdog.onChunk();
        if (chunk.type !== 'thinking') answer.finishThinking();
        if (chunk.type === 'text') {
          const text = cleanText(chunk.delta);
          if (text !== '') emit({ type: 'stream_chunk', msgId, delta: reply.addText(text) });
        } else if (chunk.type === 'thinking') answer.addThinking(cleanText(chunk.delta));
        else if (chunk.type === 'text_was_thinking') answer.moveTextToThinking();
        else answer.addEnd(chunk);
        if (answer.chars > MAX_ANSWER_CHARS) break;
      }
    });
  } catch (error) {
    if (watchdog.begun) measure();
    throw error;
  } finally {
    answer.finishThinking();
    call.begun = watchdog.begun;
    call.firstTokenMs = watchdog.firstChunkMs;
    await call.waits?.end();
  }
  return answer.response(measure());
}

/** What else is known of an answer while it streams: its text grows in the turn's reply. */
class StreamingAnswer {
  readonly #msgId: string;
  readonly #reply: Reply;
  readonly #emit: Emit;
  readonly #toolCalls: ToolCall[] = [];
  #thinking = '';
  /** True between `thinking_started` and `thinking_finished`. */
  #isThinking = false;
  #finishReason: LLMResponse['finishReason'] = 'length';
  #reported: Usage | undefined;
  #echo: Echo | undefined;
  #unknownReason: string | undefined;

  constructor({ msgId, reply }: Pick<ModelCall, 'msgId' | 'reply'>, emit: Emit) {
    this.#msgId = msgId;
    this.#reply = reply;
    this.#emit = emit;
  }

  /** Length of text and thinking, in UTF-16 units. */
  get chars(): number {
    return this.#reply.callLength + this.#thinking.length;
  }

  /** Adds a tool call, or notes how the answer ended. */
  addEnd(chunk: Extract<ChatChunk, { type: 'tool_call' | 'done' }>): void {
    if (chunk.type === 'done') {
      this.#finishReason = chunk.finishReason;
      this.#reported = chunk.usage;
      this.#echo = chunk.echo;
      this.#unknownReason = chunk.unknownReason;
    } else if (this.#toolCalls.length < MAX_CALLS_KEPT) this.#toolCalls.push(chunk.call);
  }

  /** Ends the shown thinking, if any. */
  finishThinking(): void {
    if (!this.#isThinking) return;
    this.#isThinking = false;
    this.#emit({ type: 'thinking_finished', msgId: this.#msgId });
  }

  /** Usage so far: as the server reported it, else estimated. */
  usage(promptTokens: number, startedAt: number): Usage {
    const calls = this.#toolCalls.length === 0 ? '' : JSON.stringify(this.#toolCalls);
    const output = this.#thinking + this.#reply.callText + calls;
    return completeUsage(this.#reported, { promptTokens, output, ms: performance.now() - startedAt });
  }

  response(usage: Usage): LLMResponse {
    return {
      content: this.#reply.callText,
      thinking: this.#thinking,
      toolCalls: this.#toolCalls,
      finishReason: this.#finishReason,
      usage,
      ...(this.#echo && { echo: this.#echo }),
      ...(this.#unknownReason !== undefined && { unknownReason: this.#unknownReason }),
    };
  }

  /** Only thinking before the text is shown; all of it is kept. */
  addThinking(delta: string): void {
    if (this.chars === 0 && !this.#isThinking) {
      this.#isThinking = true;
      this.#emit({ type: 'thinking_started', msgId: this.#msgId });
    }
    this.#thinking += delta;
    if (this.#isThinking) this.#emit({ type: 'thinking_delta', msgId: this.#msgId, delta });
  }

  /** What was streamed as text is taken back, and shown as the thinking that it was. */
  moveTextToThinking(): void {
    const msgId = this.#msgId;
    const thought = this.#reply.callText;
    this.#reply.discardCall();
    this.#reply.openCall();
    this.#emit({ type: 'stream_reset', msgId });
    this.#emit({ type: 'stream_start', msgId });
    this.addThinking(thought);
    this.finishThinking();
  }
}

/** Who is notified, besides the user, that a call has to wait in a queue. */
interface QueueListeners {
  watchdog: StreamWatchdog;
  waits?: LastingNote | undefined;
}

/** The request of a call that notifies the user when it has to wait in a queue. */
export function withQueueNotice(
  request: ChatRequest,
  { watchdog, waits }: QueueListeners,
  emit: Emit,
  say: Say = inEnglish,
): ChatRequest {
  const onQueued = (ahead: number): void => {
    watchdog.onQueued();
    waits?.begin();
    const text = ahead === 0 ? say('turn.busy_next') : say('turn.busy', { count: ahead });
    emit({ type: 'notice', code: 'model_busy', text });
  };
  return { ...request, onQueued, ...(waits && { onPlace: () => waits.end() }) };
}
