/** Retries work that fails temporarily, for callers that nothing else retries. */
import { backoffMs } from './backoff.ts';
import { sleep } from './sleep.ts';

export interface RetryLimits {
  /** Attempts in total. */
  maxTries?: number;
  /** The waits between them in milliseconds, unless the other side asks for longer ones. */
  baseMs?: number;
  capMs?: number;
  onRetry?: (error: unknown) => void;
}

/** An error after which the same call may succeed; `retryAfterMs` is what the other side asked for. */
export interface Transient {
  readonly retryAfterMs: number | undefined;
}

/** Does the work, and again while `isTransient` holds for its error. Throws the last error, or the signal's reason. */
export async function retryWhile<T>(
  isTransient: (error: unknown) => error is Transient,
  work: () => Promise<T>,
  signal: AbortSignal,
  { maxTries = 6, baseMs = 500, capMs = 30_000, onRetry }: RetryLimits = {},
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error) || attempt + 1 >= maxTries) throw error;
      onRetry?.(error);
      await sleep(Math.max(backoffMs(attempt, baseMs, capMs), error.retryAfterMs ?? 0), signal);
    }
  }
}
