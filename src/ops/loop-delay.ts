/** Delay of the event loop: one monitor for the metrics, and for everything that reduces work under load. */
import { createHistogram } from 'node:perf_hooks';
import { type Clock, systemClock } from '../lib/clock.ts';

/** Time between two samples, in milliseconds. */
export const SAMPLE_MS = 10;
/** The 99th percentile covers the last one to two spans of this length, in milliseconds. */
export const SPAN_MS = 30_000;
/** Weight of the newest sample: one stall fades within a few samples, and steady load shows as fast. */
const NEWEST_SHARE = 0.25;

export interface LoopMonitor {
  /** Smoothed delay of the last samples, in milliseconds. A plain read, cheap enough for every token. */
  recentMs(): number;
  /** 99th percentile of the last 30 to 60 seconds, in milliseconds. */
  p99Ms(): number;
  /** Stops sampling; may be called more than once. */
  stop(): void;
}

/** The machine's clock with unreferenced timers, so that a failed start can exit. */
const backgroundClock: Clock = {
  ...systemClock,
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Starts sampling: the lateness of a timer is the delay of the loop. */
export function startLoopMonitor(clock: Clock = backgroundClock): LoopMonitor {
  let previous = createHistogram();
  let latest = createHistogram();
  let spanEndsAt = clock.monotonicMs() + SPAN_MS;
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
    latest.record(Math.max(1, Math.round(lateMs * 1_000)));
    if (clock.monotonicMs() >= spanEndsAt) {
      previous = latest;
      latest = createHistogram();
      spanEndsAt = clock.monotonicMs() + SPAN_MS;
    }
    schedule();
  };
  schedule();
  return {
    recentMs: () => recentMs,
    p99Ms() {
      const both = createHistogram();
      both.add(previous);
      both.add(latest);
      return both.percentile(99) / 1_000;
    },
    stop: () => cancel?.(),
  };
}
