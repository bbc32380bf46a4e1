/** Repeats a piece of work, one run at a time, and runs it sooner on request. */
import type { Log } from '../protocol/log.ts';

export interface Ticker {
  /** Runs within `gapMs`; when requested during a run, it runs again afterwards. Never throws. */
  runSoon(): void;
  /** Starts no further run; resolves when the current one has ended. */
  stop(): Promise<void>;
}

export interface TickerOptions {
  /** Pause between two runs, in milliseconds. */
  everyMs: number;
  /** Shorter pause after `runSoon`: a burst of requests is one run. */
  gapMs: number;
  /** Returns the pause until the next run if it should be shorter, in milliseconds. */
  run: () => Promise<number | void>;
  log: Log;
  /** Log event of a failed run; a failure does not keep the next run from starting. */
  failure: string;
}

/** Starts at once. */
export function startTicker({ everyMs, gapMs, run, log, failure }: TickerOptions): Ticker {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isRequested = false;
  let hurried = false;
  let stopped = false;

  const tick = async (): Promise<void> => {
    let pauseMs = everyMs;
    try {
      pauseMs = Math.min((await run()) ?? everyMs, everyMs);
    } catch (error) {
      log.warn({ err: error }, failure);
    }
    running = undefined;
    plan(isRequested ? gapMs : pauseMs);
    hurried = isRequested;
    isRequested = false;
  };
  const fire = (): void => {
    timer = undefined;
    running = tick();
  };
  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(fire, ms);
  };

  fire();
  return {
    runSoon() {
      if (running !== undefined) isRequested = true;
      else if (!hurried) {
        hurried = true;
        plan(gapMs);
      }
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
