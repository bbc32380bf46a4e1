/** Limits the calls that one model server answers at a time; the others wait and take turns by user. */
import { ProviderError } from '../protocol/errors.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';
import { createFairQueue } from '../lib/async/fair-queue.ts';
import type { ChatRequest } from '../protocol/agent/provider.ts';

/** Calls that may wait; one more gets the error that the server is busy. */
export const MAX_WAITING_CALLS = 4_096;

/**
 * Waits for a slot and returns the function that releases it. Throws `aborted`, `unavailable` when too many are already
 * waiting, and what the request's `onPlace` throws.
 */
export type AcquireSlot = (
  request: Pick<ChatRequest, 'userId' | 'onQueued' | 'onPlace'>,
  signal: AbortSignal,
) => Promise<() => void>;

/** `setting` is the field of the configuration that sets `limit`. */
export function createConcurrencyLimit(
  limit: number,
  server: string | TextRef,
  setting: string,
): AcquireSlot {
  const slots = createFairQueue(limit, MAX_WAITING_CALLS);
  return async (request, signal) => {
    let waited = false;
    const acquired = slots.enter(request.userId ?? '', signal, (ahead) => {
      waited = true;
      request.onQueued?.(ahead);
    });
    const release = await acquired.catch((cause: unknown) => {
      throw new ProviderError('aborted', textRef('provider.stopped_waiting'), {
        cause,
      });
    });
    if (release !== undefined) {
      if (waited) await placed(request, release);
      return release;
    }
    throw new ProviderError(
      'unavailable',
      textRef('provider.queue_full', { most: MAX_WAITING_CALLS, server, setting }),
      { retryable: true },
    );
  };
}

async function placed({ onPlace }: Pick<ChatRequest, 'onPlace'>, release: () => void): Promise<void> {
  try {
    await onPlace?.();
  } catch (error) {
    release();
    throw error;
  }
}
