/** Around a start: its long steps are named on the terminal or in the log, and the memory it used is released. */
import type { Log, StartProgress } from '../protocol/log.ts';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A step that lasts longer is named, in milliseconds. */
const NAMED_AFTER_MS = 1_000;

/** The progress of one start; nothing is named after `end`. */
export interface StartNotes extends StartProgress {
  end(): void;
}

/** Makes it; `show` receives one line. Lines in a row that say the same are shown once. */
export function createStartNotes(show: (text: string) => void, namedAfterMs = NAMED_AFTER_MS): StartNotes {
  let timer: NodeJS.Timeout | undefined;
  let last = '';
  const tell = (text: string): void => {
    clearTimeout(timer);
    if (text !== last) show(text);
    last = text;
  };
  return {
    tell,
    step(text) {
      clearTimeout(timer);
      timer = setTimeout(() => tell(text), namedAfterMs).unref();
    },
    end: () => clearTimeout(timer),
  };
}

/** The notes of a process: lines on a terminal, elsewhere the log's event `starting`. */
export function processNotes(log: Log): StartNotes {
  const { stdout } = process;
  return createStartNotes((text) => {
    if (stdout.isTTY) stdout.write(`${text}\n`);
    else log.info({ detail: text }, 'starting');
  });
}

/** From ready to the first attempt, during which channels connect. */
const AFTER_MS = 3_000;

/** A gateway that is busy at every attempt is left alone: its memory is in use. */
const MAX_ATTEMPTS = 10;

const BETWEEN_MS = 5_000;

/**
 * Collects all garbage once, when `isIdle`: that stops the process for about 50 ms, and V8 frees the pages ten seconds
 * later. Never throws, and does not keep the process alive.
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
    else if (attempts < MAX_ATTEMPTS) schedule(betweenMs);
  };
  const schedule = (ms: number): void => void setTimeout(() => void attempt(), ms).unref();
  schedule(afterMs);
}

/** A full collection, for which Node has a function only when started with a flag. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}
