/** A model call outside the conversation: its whole text and usage, and thinking events while it streams. */
import { cleanText, estimateTokens } from '../../lib/text.ts';
import type {
  ChatChunk,
  ChatProvider,
  ChatRequest,
  Echo,
  LLMResponse,
  ToolCall,
  Usage,
} from '../../protocol/agent/provider.ts';
import type { DelayedFlag } from '../../lib/async/delayed-flag.ts';
import { type AgentLimits, type Emit, MAX_ANSWER_CHARS, MAX_CALLS_KEPT } from '../deps.ts';
import type { Reply } from '../turn/reply.ts';
import type { Omission } from '../../protocol/agent/omissions.ts';
import { type StreamLimits, StreamWatchdog } from './stream-watchdog.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';

/** Measures the usage of one call. */
export interface CallMeter {
  add(chunk: ChatChunk): void;
  /** Usage so far of a call that started at `startedAt`, by `performance.now()`; undefined until its first chunk. */
  usage(startedAt: number): Usage | undefined;
}

/** One call: what stays the same when it is repeated, and what is known about it so far. */
export interface ModelCall {
  provider: ChatProvider;
  msgId: string;
  reply: Reply;
  limits: StreamLimits & Pick<AgentLimits, 'slowMs'>;
  signal: AbortSignal;
  /** Called once when the server has not begun after `slowMs`, unless the call waits in a queue. */
  onSlow?: (() => void) | undefined;
  /**
   * Notes in the turn's lane that the turn only waits for a place; undefined where other work continues alongside the
   * call.
   */
  waits?: DelayedFlag | undefined;
  /** The language of the notice that the call waits; default: English. */
  say?: Say | undefined;
  /** Told what the server is not sent because it refuses it; undefined where nobody is. */
  onOmissions?: ((omissions: readonly Omission[]) => void) | undefined;
  /** Set at the first chunk: also true of a stream that broke later. */
  begun: boolean;
  /** Milliseconds from the request to the first chunk. */
  firstTokenMs?: number | undefined;
  /** Usage of the call once the model had begun, also when the stream broke. */
  usage?: Usage;
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

  constructor({ msgId, reply }: ModelCall, emit: Emit) {
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
    const text = this.#reply.callText;
    this.#reply.discardCall();
    this.#reply.openCall();
    this.#emit({ type: 'stream_reset', msgId });
    this.#emit({ type: 'stream_start', msgId });
    this.addThinking(text);
    this.finishThinking();
  }
}

/** A call that is shown, with its text as thinking under a title. */
export interface ShownCall {
  /** Names the call in its events. */
  msgId: string;
  title: string;
}

export interface TextCall {
  request: ChatRequest;
  signal: AbortSignal;
  /** As that of a `ModelCall`. */
  waits?: DelayedFlag | undefined;
  say?: Say | undefined;
  /** Longest answer that is read, thinking included, in UTF-16 units; the connection is closed after it. */
  maxChars: number;
  /** Undefined = the call is not shown. */
  display?: ShownCall | undefined;
  /** Called once with the usage of the call, also when the stream broke; not called when the model had not begun. */
  onUsage: (usage: Usage) => void | Promise<void>;
}

/**
 * Returns the model's text without its thinking. Emits a shown call as thinking, and in any case a notice when the call
 * waits in a queue. Throws `ProviderError`, the signal's reason, or what `paid` throws.
 */
export async function completeText(
  { provider, limits }: { provider: ChatProvider; limits: StreamLimits },
  { request, signal, waits, say, maxChars, display, onUsage }: TextCall,
  emit: Emit,
): Promise<string> {
  const meter = meterCall(request, 0);
  const watchdog = new StreamWatchdog(signal, limits);
  let text = '';
  let chars = 0;
  if (display !== undefined) emit({ type: 'thinking_started', ...display });
  try {
    const queueable = withQueueNotice(request, watchdog, waits, emit, say);
    await watchdog.guard(async (connection) => {
      for await (const chunk of provider.streamChat(queueable, connection)) {
        watchdog.onChunk();
        meter.add(chunk);
        if (chunk.type === 'text_was_thinking') text = '';
        if (chunk.type !== 'text' && chunk.type !== 'thinking') continue;
        if (chunk.type === 'text') text += chunk.delta;
        const delta = cleanText(chunk.delta);
        if (display !== undefined && delta !== '')
          emit({ type: 'thinking_delta', msgId: display.msgId, delta });
        chars += delta.length;
        if (chars > maxChars) break;
      }
    });
  } finally {
    await waits?.end();
    const usage = meter.usage(watchdog.startedAt);
    if (usage !== undefined) await onUsage(usage);
    if (display !== undefined) {
      emit({
        type: 'thinking_finished',
        msgId: display.msgId,
        ...(usage && { usage, model: request.model }),
      });
    }
  }
  return cleanText(text);
}

/**
 * Streams one answer: `stream_start`, thinking (started and finished once, before the text), `stream_chunk`s. The reply
 * stays open: the caller closes or discards it. Usage that the server did not report is estimated, that of the prompt as
 * `promptTokens`. Throws
 * `ProviderError`, or the signal's reason.
 */
export async function streamAnswer(
  call: ModelCall,
  request: ChatRequest,
  promptTokens: number,
  emit: Emit,
): Promise<LLMResponse> {
  const { msgId, reply } = call;
  reply.openCall();
  emit({ type: 'stream_start', msgId });
  const answer = new StreamingAnswer(call, emit);
  const watchdog = new StreamWatchdog(call.signal, call.limits);
  const slow = setTimeout(() => {
    if (!watchdog.begun && !watchdog.queued) call.onSlow?.();
  }, call.limits.slowMs);
  const measure = (): Usage => (call.usage = answer.usage(promptTokens, watchdog.startedAt));
  try {
    const queueable = withQueueNotice(request, watchdog, call.waits, emit, call.say);
    const { onOmissions } = call;
    const watchedRequest = onOmissions === undefined ? queueable : { ...queueable, onOmissions };
    await watchdog.guard(async (signal) => {
      for await (const chunk of call.provider.streamChat(watchedRequest, signal)) {
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
    clearTimeout(slow);
    answer.finishThinking();
    call.begun = watchdog.begun;
    call.firstTokenMs = watchdog.firstChunkMs;
    await call.waits?.end();
  }
  return answer.response(measure());
}

/** The request of a call that notifies the user when it has to wait in a queue. */
function withQueueNotice(
  request: ChatRequest,
  watchdog: StreamWatchdog,
  waits: DelayedFlag | undefined,
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

/**
 * Fills in what the server did not report: `promptTokens` are estimated, `output` is everything that the model generated, `ms`
 * is the time from start to end. `reported` is undefined for a call that broke before its end.
 */
export function completeUsage(
  reported: Usage | undefined,
  observed: { promptTokens: number; output: string; ms: number },
): Usage {
  const promptTokens = reported?.promptTokens || Math.round(observed.promptTokens);
  const completionTokens = reported?.completionTokens || estimateTokens(observed.output);
  const modelMs = reported?.modelMs || Math.round(observed.ms);
  const estimated = promptTokens !== reported?.promptTokens || completionTokens !== reported.completionTokens;
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

/** Makes the meter of a call. `toolTokens` are those of the tool schemas in the request. */
export function meterCall(request: ChatRequest, toolTokens: number): CallMeter {
  const output: string[] = [];
  let reported: Usage | undefined;
  let hasBegun = false;
  return {
    add(chunk) {
      hasBegun = true;
      if (chunk.type === 'done') reported = chunk.usage;
      else if (chunk.type === 'tool_call') output.push(JSON.stringify(chunk.call.args));
      else if (chunk.type !== 'text_was_thinking') output.push(chunk.delta);
    },
    usage(startedAt) {
      if (!hasBegun) return undefined;
      const prompt = request.messages.map(({ content }) => content).join('');
      return completeUsage(reported, {
        promptTokens: estimateTokens(prompt) + toolTokens,
        output: output.join(''),
        ms: performance.now() - startedAt,
      });
    },
  };
}
