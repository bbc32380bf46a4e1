/** A question to a model server that is not a chat: what it has, what a model can. It has a limit of its own. */
import { silent, toProviderError } from './errors.ts';
import type { Where } from './errors.ts';

/** Asks for at most `timeoutMs`; `signal` ends it earlier. Throws `ProviderError`. */
export async function requestWithin<T>(
  where: Where,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  question: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await question(signal === undefined ? limit : AbortSignal.any([signal, limit]));
  } catch (error) {
    if (limit.aborted && signal?.aborted !== true) throw silent(where, timeoutMs, error);
    throw toProviderError(where, error);
  }
}
