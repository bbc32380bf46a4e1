/** Retries of transient failures, for work that nothing else retries. */
import { GatewayError } from '../../../src/contracts/errors.ts';
import { retryWhile } from '../../../src/lib/retry.ts';

/** Does the work, and again while its error is retryable. Throws the last error, or the signal's reason. */
export async function retryTransient<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return await retryWhile(isRetryable, work, signal);
}

function isRetryable(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.retryable;
}
