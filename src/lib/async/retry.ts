/** Retries work that fails temporarily, for callers that nothing else retries. */
import { backoffMs } from './backoff.ts';
import { sleep } from './sleep.ts';

/** Attempts in total, and the waits between them in milliseconds, unless the other side asks for longer ones. */
const MAX_TRIES = 6;
const BASE_MS = 500;
const CAP_MS = 30_000;

/** An error after which the same call may succeed; `retryAfterMs` is what the other side asked for. */
export interface Transient {
  readonly retryAfterMs: number | undefined;
}

/** Does the work, and again while `isTransient` holds for its error. Throws the last error, or the signal's reason. */
export async function retryWhile<T>(
  isTransient: (error: unknown) => error is Transient,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error) || attempt + 1 >= MAX_TRIES) throw error;
      await sleep(Math.max(backoffMs(attempt, BASE_MS, CAP_MS), error.retryAfterMs ?? 0), signal);
    }
  }
}
