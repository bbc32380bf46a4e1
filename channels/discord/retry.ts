/** Retries of transient failures, for work that nothing else retries. */
import { GatewayError } from '../../src/contracts/errors.ts';
import { backoffMs } from '../../src/lib/backoff.ts';
import { sleep } from '../../src/lib/sleep.ts';

/** Attempts in all, and the waits between them in milliseconds; a longer wait that Discord asks for is kept. */
const MAX_TRIES = 6;
const BASE_MS = 500;
const CAP_MS = 30_000;

/** Does the work, and again while its error is retryable. Throws the last error, or the signal's reason. */
export async function retryTransient<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransientError(error) || attempt + 1 >= MAX_TRIES) throw error;
      await sleep(Math.max(backoffMs(attempt, BASE_MS, CAP_MS), error.retryAfterMs ?? 0), signal);
    }
  }
}

/** True when the same call may succeed soon; a permission that is missing takes people to give it. */
export function isTransientError(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.retryable && error.code !== 'blocked';
}
