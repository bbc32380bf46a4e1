/** Delay of the event loop: one monitor for the process, read by whoever does less under load and by the metrics. */
import { createHistogram } from 'node:perf_hooks';
import type { Clock } from '../lib/clock.ts';
import { systemClock } from '../lib/clock.ts';

/** Time between two samples, in milliseconds. */
export const SAMPLE_MS = 10;
/** Share of the newest sample in the recent delay: one stall is over after a few samples, steady load shows after as many. */
const NEWEST_SHARE = 0.25;

export interface LoopMonitor {
  /** Smoothed delay of the last samples, in milliseconds. A plain read, cheap enough for every token. */
  recentMs(): number;
  /** 99th percentile since the start, in milliseconds. */
  p99Ms(): number;
  /** No further sample; twice is fine. */
  stop(): void;
}

/** The machine's clock, whose timers keep no process alive: a failed start must be able to end. */
const backgroundClock: Clock = {
  ...systemClock,
  after(ms, then) {
    const timer = setTimeout(then, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Starts sampling: a timer that is late shows by how much the loop is behind. */
export function startLoopMonitor(clock: Clock = backgroundClock): LoopMonitor {
  const histogram = createHistogram();
  let recentMs = 0;
  let dueAt = 0;
  let cancel: (() => void) | undefined;
  const schedule = (): void => {
    dueAt = clock.monotonicMs() + SAMPLE_MS;
    cancel = clock.after(SAMPLE_MS, sample);
  };
  const sample = (): void => {
    const lateMs = Math.max(0, clock.monotonicMs() - dueAt);
    recentMs += (lateMs - recentMs) * NEWEST_SHARE;
    // In microseconds: a histogram counts whole numbers from 1.
    histogram.record(Math.max(1, Math.round(lateMs * 1_000)));
    schedule();
  };
  schedule();
  return {
    recentMs: () => recentMs,
    p99Ms: () => histogram.percentile(99) / 1_000,
    stop: () => cancel?.(),
  };
}
