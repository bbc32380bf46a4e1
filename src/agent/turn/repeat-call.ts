/** A model call that failed: whether it is repeated, and after which pause. */
import { ProviderError, wordError } from '../../protocol/errors.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { type AgentLimits, type AgentShared, type Emit, RETRY_CAP_MS } from '../deps.ts';
import type { LLMResponse } from '../../protocol/agent/provider.ts';
import type { ModelCall } from '../model/model-call.ts';
import { OVERFLOW_SHRINK } from '../prompt/context-window.ts';
import { emitReset, type Turn } from './turn-state.ts';
import { turnReader } from './failure-text.ts';

/** How much longer the pauses are before a server that limits its calls is asked again. */
const RATE_LIMIT_FACTOR = 4;

/** What is known about the earlier attempts of one call. */
export interface Attempts {
  /** The most that the prompt may have, in estimated tokens: less than one that was refused as too long, once (B-11). */
  mostTokens: number;
  /** The answer broke, and was repeated, once. */
  repeated: boolean;
  /** The answer was empty, and was requested again, once. */
  wasEmpty: boolean;
  /** Attempts to reach an unavailable server. */
  waits: number;
  /** When the first of them failed. */
  refusedSince?: number;
}

/** Before the first attempt of a call, or of another model's. */
export function firstAttempt(): Attempts {
  return { mostTokens: Infinity, repeated: false, wasEmpty: false, waits: 0 };
}

interface BrokenCall {
  n: number;
  call: ModelCall;
  attempts: Attempts;
  error: unknown;
  /** Tokens of its prompt; undefined when none was made. */
  estimated: number | undefined;
}

/** Drops the text of a broken call and waits until it may be repeated. Throws its error when it must not be. */
export async function prepareRepeat(
  shared: AgentShared,
  turn: Turn,
  { n, call, attempts, error, estimated }: BrokenCall,
  emit: Emit,
): Promise<void> {
  countUsage(turn, call);
  turn.signal.throwIfAborted();
  if (!(error instanceof ProviderError)) throw error;
  const waitMs = pauseAfter(error, { begun: call.begun, estimated }, attempts, shared.limits);
  if (waitMs === undefined) throw error;
  discardCall(turn, call, emit);
  if (waitMs > 0 && attempts.waits === 1) {
    const reason = wordError(error, await turnReader(shared, turn), turn.say);
    const text = turn.say('turn.model_away', { why: reason });
    emit({ type: 'notice', code: 'model_unavailable', text });
  }
  turn.log.warn({ err: error, iteration: n, waitMs }, 'model_call_repeated');
  turn.trace?.retry(waitMs, error.code);
  await sleep(waitMs, turn.signal);
}

/**
 * True for an answer with neither text nor calls that is to be requested again: once, before its user hears of it. Then it is
 * dropped. For a turn that may stay silent, an empty answer is silence.
 */
export function repeatsEmpty(
  turn: Turn,
  { n, call, attempts, response }: Omit<BrokenCall, 'error' | 'estimated'> & { response: LLMResponse },
  emit: Emit,
): boolean {
  const { content, toolCalls, finishReason } = response;
  const isEmpty = content.trim() === '' && toolCalls.length === 0 && finishReason === 'stop';
  if (!isEmpty || attempts.wasEmpty || turn.silentToken !== undefined) return false;
  attempts.wasEmpty = true;
  countUsage(turn, call);
  discardCall(turn, call, emit);
  turn.log.warn({ iteration: n }, 'empty_answer_repeated');
  turn.trace?.retry(0, 'empty_answer');
  return true;
}

/** What a repeated call has used counts with the turn. */
function countUsage(turn: Turn, { usage }: ModelCall): void {
  if (usage !== undefined) turn.otherUsage.add({ ...usage, model: turn.model ?? '' });
}

/** The text of a repeated call is taken back. */
function discardCall(turn: Turn, { msgId }: ModelCall, emit: Emit): void {
  if (!turn.reply.open) return;
  turn.reply.discardCall();
  emitReset(turn, [msgId], emit);
}

/**
 * Counts a failed call in `attempts`; returns the pause in milliseconds before it is repeated, or undefined to give up. A
 * prompt that was too long is repeated once, with at most 0.6 of its tokens; a broken answer is repeated once and at
 * once, because the server is up. An unavailable server is tried with growing pauses, or after the one it asks for, for `modelWaitMs` in
 * all: a longer one ends the turn at once. A timeout before the first chunk is not repeated: the user has waited two
 * minutes by then.
 */
function pauseAfter(
  error: ProviderError,
  { begun: hasOutput, estimated = 0 }: { begun: boolean; estimated?: number | undefined },
  attempts: Attempts,
  limits: AgentLimits,
): number | undefined {
  if (error.code === 'context_overflow') {
    if (attempts.mostTokens !== Infinity) return undefined;
    attempts.mostTokens = Math.floor(estimated * OVERFLOW_SHRINK);
    return 0;
  }
  if (hasOutput || (error.code === 'bad_response' && error.retryable)) {
    if (attempts.repeated) return undefined;
    attempts.repeated = true;
    return 0;
  }
  if (!error.retryable || error.code === 'timeout_first_chunk') return undefined;
  // A server that limits its calls is asked less often than one that may be back at any moment.
  const limited = error.code === 'rate_limited';
  const baseMs = limits.retryBaseMs * (limited ? RATE_LIMIT_FACTOR : 1);
  const capMs = RETRY_CAP_MS * (limited ? RATE_LIMIT_FACTOR : 1);
  const pause = Math.max(error.retryAfterMs ?? 0, backoffMs(attempts.waits, baseMs, capMs));
  const now = performance.now();
  attempts.waits += 1;
  attempts.refusedSince ??= now;
  return now - attempts.refusedSince + pause > limits.modelWaitMs ? undefined : pause;
}
