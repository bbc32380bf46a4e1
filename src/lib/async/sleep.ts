/** Waits that can be cancelled. */
import { setTimeout as delay } from 'node:timers/promises';

/** Waits `ms` milliseconds. Rejects with the signal's reason as soon as it aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** What the work returns, or `late` if it takes longer than `ms` milliseconds. Throws what the work throws. */
export async function waitAtMost<Result>(ms: number, work: Promise<Result>): Promise<Result | 'late'> {
  const limit = new AbortController();
  try {
    return await Promise.race([work, pause(ms, limit.signal).then(() => 'late' as const)]);
  } finally {
    limit.abort();
  }
}

/** Waits `ms` milliseconds, or until the signal aborts, whichever comes first. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, signal);
  } catch {
    // Only an abort ends a sleep early, and the caller knows about it.
  }
}
