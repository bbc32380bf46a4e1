/** The places at a model server: so many calls run, the others take turns by session. */
import { ProviderError } from '../contracts/errors.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import type { ChatRequest } from '../contracts/provider.ts';

/** Calls that may wait for a place; one more is told that the server is busy. */
export const MAX_WAITING_CALLS = 4_096;

/** Waits for a place and gives the function that leaves it. Throws `aborted`, or `unavailable` when too many wait already. */
export type EnterPlace = (request: ChatRequest, signal: AbortSignal) => Promise<() => void>;

/** `setting` is the field of the configuration that sets `limit`. */
export function createConcurrencyLimit(limit: number, server: string, setting: string): EnterPlace {
  const places = createFairQueue(limit, MAX_WAITING_CALLS);
  return async (request, signal) => {
    const entered = places.enter(request.sessionKey ?? '', signal, request.onQueued);
    const leave = await entered.catch((cause: unknown) => {
      throw new ProviderError('aborted', 'The model call was stopped while it waited for its turn.', {
        cause,
      });
    });
    if (leave !== undefined) return leave;
    throw new ProviderError(
      'unavailable',
      `${MAX_WAITING_CALLS} calls wait for ${server} already: try again later, or raise ${setting}.`,
      { retryable: true },
    );
  };
}
