/** Requests to a model server that are not chats (list the models, describe one) and have their own timeout. */
import { timedOut, toProviderError, type Where } from '../errors.ts';

/** Waits at most `timeoutMs`; `signal` ends the request earlier. Throws `ProviderError`. */
export async function requestWithin<T>(
  where: Where,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  request: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await request(signal === undefined ? limit : AbortSignal.any([signal, limit]));
  } catch (error) {
    if (limit.aborted && signal?.aborted !== true) throw timedOut(where, timeoutMs, error);
    throw toProviderError(where, error);
  }
}
