/** Does one thing again and again, one at a time, and sooner when asked. */
import type { Log } from '../contracts/log.ts';

export interface Ticker {
  /** Runs within `gapMs`; asked during a run, it runs once more afterwards. Never throws. */
  soon(): void;
  /** No further run; resolves when the one under way is over. */
  stop(): Promise<void>;
}

export interface TickerOptions {
  /** Rest between two runs, in milliseconds. */
  everyMs: number;
  /** Shorter rest when asked by `soon`: a burst of wishes is one run. */
  gapMs: number;
  run: () => Promise<void>;
  log: Log;
  /** What a failed run is called in the log; the next one comes all the same. */
  name: string;
}

/** Begins at once. */
export function startTicker({ everyMs, gapMs, run, log, name }: TickerOptions): Ticker {
  let timer: NodeJS.Timeout | undefined;
  let under: Promise<void> | undefined;
  let asked = false;
  let hurried = false;
  let stopped = false;

  const beat = async (): Promise<void> => {
    try {
      await run();
    } catch (error) {
      log.warn({ err: error }, `${name} failed`);
    }
    under = undefined;
    plan(asked ? gapMs : everyMs);
    hurried = asked;
    asked = false;
  };
  const fire = (): void => {
    timer = undefined;
    under = beat();
  };
  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(fire, ms);
  };

  fire();
  return {
    soon() {
      if (under !== undefined) asked = true;
      else if (!hurried) {
        hurried = true;
        plan(gapMs);
      }
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await under;
    },
  };
}
