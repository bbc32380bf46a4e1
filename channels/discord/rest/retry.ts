/** Retries of transient failures, for work that nothing else retries. */
import { type GatewayError, isRetryable } from '../../../src/protocol/errors.ts';
import { retryWhile } from '../../../src/lib/async/retry.ts';

/** Does the work, and repeats it while its error is transient. Throws the last error, or the signal's reason. */
export async function retryTransient<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return await retryWhile(isTransientError, work, signal);
}

/** True if the same call may succeed soon; a missing permission must be granted by people. */
export function isTransientError(error: unknown): error is GatewayError {
  return isRetryable(error) && error.code !== 'blocked';
}
