/** A model that says what a test wrote down, and complains about an unexpected call and an unused step. */
import { ProviderError } from '../../../src/protocol/errors.ts';
import { sleep } from '../../../src/lib/async/sleep.ts';
import type {
  ChatChunk,
  ChatRequest,
  ChatProvider,
  FinishReason,
  ModelCapabilities,
  ToolCall,
  Usage,
} from '../../../src/protocol/agent/provider.ts';

/** One model call: its chunks, then `done`, unless `ending` specifies another end. */
export interface ScriptStep {
  chunks: readonly ChatChunk[];
  /** `silence` lasts until the call is aborted. */
  ending?: 'done' | 'silence' | ProviderError;
  finishReason?: FinishReason;
  usage?: Usage;
  /** Reports that this many calls are ahead, as a provider without a free slot does. */
  ahead?: number;
  /** Awaited before the first chunk; with `ahead`, before the call has its slot. */
  before?: () => void | Promise<void>;
}

export const SCRIPT_USAGE: Usage = { promptTokens: 10, completionTokens: 5, modelMs: 7 };

/** An answer in pieces. */
export function says(...deltas: string[]): ScriptStep {
  return { chunks: deltas.map((delta) => ({ type: 'text', delta })) };
}

/** An answer that asks for tools, optionally with text before. */
export function asks(
  calls: readonly (Omit<ToolCall, 'id'> & { id?: string })[],
  ...words: string[]
): ScriptStep {
  const asked = calls.map((call, index): ChatChunk => ({
    type: 'tool_call',
    call: { ...call, id: call.id ?? `call_${index}` },
  }));
  return { chunks: [...says(...words).chunks, ...asked] };
}

/** Text and then nothing more, until the caller hangs up. */
export function fallsSilent(...deltas: string[]): ScriptStep {
  return { ...says(...deltas), ending: 'silence' };
}

/** Text and then an error. */
export function fails(error: ProviderError, ...deltas: string[]): ScriptStep {
  return { ...says(...deltas), ending: error };
}

export class ScriptedProvider implements ChatProvider {
  readonly name = 'scripted';
  /** Every request as received. */
  readonly requests: ChatRequest[] = [];
  /** Calls that ended because the caller hung up. */
  hungUp = 0;
  can: ModelCapabilities = { contextWindow: 16_384, tools: true, thinking: true, vision: false };
  names = ['test-model'];
  /** Set to make `models` and `capabilities` fail. */
  down: ProviderError | undefined;
  readonly #steps: ScriptStep[];
  readonly #failures: string[] = [];
  #silence = Promise.withResolvers<void>();

  constructor(...steps: ScriptStep[]) {
    this.#steps = steps;
  }

  /** Adds steps to the script. */
  add(...steps: ScriptStep[]): void {
    this.#steps.push(...steps);
  }

  /** Resolves when a call has said its text and gone silent. */
  async silence(): Promise<void> {
    await this.#silence.promise;
    this.#silence = Promise.withResolvers<void>();
  }

  async models(signal: AbortSignal): Promise<string[]> {
    signal.throwIfAborted();
    if (this.down !== undefined) throw this.down;
    return this.names;
  }

  async capabilities(_model: string, signal: AbortSignal): Promise<ModelCapabilities> {
    signal.throwIfAborted();
    if (this.down !== undefined) throw this.down;
    return this.can;
  }

  async *streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk, void> {
    const { onQueued, onPlace, onOmissions: _, ...plain } = request;
    this.requests.push(structuredClone(plain));
    const step = this.#steps.shift();
    if (step === undefined) {
      this.#failures.push(`unexpected call ${this.requests.length}`);
      throw new Error(`The script has no step for call ${this.requests.length}.`);
    }
    let ended = false;
    try {
      if (step.ahead !== undefined) onQueued?.(step.ahead);
      await step.before?.();
      if (step.ahead !== undefined) await onPlace?.();
      for (const chunk of step.chunks) {
        // Like a network: never two chunks in one turn of the event loop's microtasks, and nothing after the
        // abort.
        await new Promise((resolve) => setImmediate(resolve));
        hangUp(signal);
        yield chunk;
      }
      if (step.ending instanceof ProviderError) {
        ended = true;
        throw step.ending;
      }
      if (step.ending === 'silence') await this.#stayUntilAborted(signal);
      hangUp(signal);
      ended = true;
      yield doneOf(step);
    } finally {
      if (!ended) this.hungUp += 1;
    }
  }

  async close(): Promise<void> {
    this.#failures.push(...this.#steps.map((_, index) => `unused step ${index + 1} from the end`));
    if (this.#failures.length > 0)
      throw new Error(`The script was not followed: ${this.#failures.join(', ')}.`);
  }

  async #stayUntilAborted(signal: AbortSignal): Promise<void> {
    this.#silence.resolve();
    await sleep(2 ** 31 - 1, signal).catch(() => hangUp(signal));
  }
}

function hangUp(signal: AbortSignal): void {
  if (signal.aborted) throw new ProviderError('aborted', 'The caller hung up.', { cause: signal.reason });
}

function doneOf(step: ScriptStep): ChatChunk {
  const asksForTools = step.chunks.some((chunk) => chunk.type === 'tool_call');
  const finishReason = step.finishReason ?? (asksForTools ? 'tool_calls' : 'stop');
  return { type: 'done', finishReason, usage: step.usage ?? SCRIPT_USAGE };
}
