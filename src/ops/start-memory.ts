/**
 * Releases the memory that a start has used: V8 grows its heap for the start's garbage, and keeps it while little
 * happens.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** From ready to the first attempt, during which channels connect. */
const AFTER_MS = 3_000;
/** A gateway that is busy at every attempt is left alone: its memory is in use. */
const MAX_ATTEMPTS = 10;
const BETWEEN_MS = 5_000;

/**
 * Collects all garbage once, at a moment when `isIdle` returns true: the collection stops the process for about 50 ms.
 * V8 frees the pages about ten seconds later. Never throws, and keeps no process alive.
 */
export function releaseStartMemory(
  isIdle: () => Promise<boolean>,
  { afterMs = AFTER_MS, betweenMs = BETWEEN_MS, collect = collectGarbage } = {},
): void {
  let attempts = 0;
  const attempt = async (): Promise<void> => {
    attempts += 1;
    // If it is unknown, it counts as not idle.
    if (await isIdle().catch(() => false)) collect();
    else if (attempts < MAX_ATTEMPTS) later(betweenMs);
  };
  const later = (ms: number): void => void setTimeout(() => void attempt(), ms).unref();
  later(afterMs);
}

/** A full collection, for which Node has a function only when started with a flag. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}
