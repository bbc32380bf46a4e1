/** Gives back the memory that a start has used: V8 grows its heap for the start's garbage, and keeps it for as long as little happens. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** From ready to the first attempt: channels connect meanwhile. */
const AFTER_MS = 3_000;
/** A gateway that works at each attempt is left alone: its memory is in use. */
const MAX_ATTEMPTS = 10;
const BETWEEN_MS = 5_000;

/**
 * Collects all garbage once, at a moment when `isIdle` says yes: the collection stops the process for some 50 ms. V8
 * frees the pages about ten seconds later. Never throws, and holds no process open.
 */
export function releaseStartMemory(
  isIdle: () => Promise<boolean>,
  { afterMs = AFTER_MS, betweenMs = BETWEEN_MS, collect = collectGarbage } = {},
): void {
  let attempts = 0;
  const attempt = async (): Promise<void> => {
    attempts += 1;
    // Whoever cannot tell is not idle.
    if (await isIdle().catch(() => false)) collect();
    else if (attempts < MAX_ATTEMPTS) later(betweenMs);
  };
  const later = (ms: number): void => void setTimeout(() => void attempt(), ms).unref();
  later(afterMs);
}

/** A whole collection, which Node has a function for only when it is started with a flag. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}
