/** A message bus over in-memory lanes, under fake time, with a handler whose runs the test ends manually. */
import { afterEach, beforeEach, vi } from 'vitest';
import type { LaneBudget, LaneOutcome, MessageBus } from '../../src/protocol/bus.ts';
import { createMessageBus, type StopNotifier } from '../../src/bus/message-bus.ts';
import { type ErrorDetails, GatewayError } from '../../src/protocol/errors.ts';
import type { LaneClass, LaneHead, LaneKey } from '../../src/protocol/store/lanes.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { recordingLog } from './events.ts';
import { MemoryLanes } from './memory-lanes.ts';

/** One run of the handler, open until the test ends it. */
export interface OpenRun {
  head: LaneHead;
  signal: AbortSignal;
  end(outcome: LaneOutcome): void;
  fail(error: unknown): void;
}

export interface DrivenBus {
  bus: MessageBus;
  lanes: MemoryLanes;
  lines: string[];
  /** All runs so far, oldest first. */
  runs: OpenRun[];
  deadLetters: { head: LaneHead; error: GatewayError }[];
  /** Errors that `dead` throws instead of ending the head, once each. */
  deadFails: Error[];
  /** Commits the end of a run's head and notifies the bus. */
  finish(run: OpenRun | undefined): Promise<void>;
  /** Appends the way an accepting channel does. */
  send(lane: LaneKey, dedupe: string): Promise<void>;
}

export interface DrivenOptions {
  concurrency?: number;
  lanes?: MemoryLanes;
  instance?: string;
  stopNotifier?: StopNotifier;
  clock?: Clock;
  classes?: LaneClass[];
}

/** Puts the file's tests under fake time; returns a function that starts a bus, which ends with its test, without timers. */
export function useDrivenBuses(): (options?: DrivenOptions) => Promise<DrivenBus> {
  const started: DrivenBus[] = [];
  beforeEach(() => void vi.useFakeTimers());
  afterEach(async () => {
    for (const { bus } of started.splice(0)) {
      const stopped = bus.stop(0);
      await pass(5_000);
      await stopped;
    }
    if (vi.getTimerCount() > 0) throw new Error('a timer was left behind');
    vi.useRealTimers();
  });
  return async (options) => {
    const driven = drivenBus(options);
    await driven.bus.start();
    started.push(driven);
    return driven;
  };
}

/** Lets `ms` pass, and runs everything that becomes due. */
export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** What the handler has received so far, oldest first. */
export const said = (driven: DrivenBus): string[] => driven.runs.map(({ head }) => head.dedupe);

/** An error that a later attempt may not run into. */
export const flaky = (details: ErrorDetails = {}): GatewayError =>
  new GatewayError('flaky', 'It failed, try again.', { retryable: true, ...details });

/** A bus that has not been started yet. */
export function drivenBus(options: DrivenOptions = {}): DrivenBus {
  const {
    concurrency = 4,
    lanes = new MemoryLanes(),
    instance = 'home',
    classes = ['in', 'out', 'poll'],
  } = options;
  const { log, lines } = recordingLog();
  const runs: OpenRun[] = [];
  const deadLetters: DrivenBus['deadLetters'] = [];
  const deadFails: Error[] = [];
  const budget = (laneClass: LaneClass): LaneBudget => ({
    class: laneClass,
    concurrency,
    handler: {
      handle: (head, signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<LaneOutcome>();
        runs.push({ head, signal, end: resolve, fail: reject });
        return promise;
      },
      onDeadLetter: (head, error) => {
        if (deadFails.length > 0) return Promise.reject(deadFails.shift());
        deadLetters.push({ head, error });
        return lanes.finish(head, error.message);
      },
    },
  });
  const bus = createMessageBus({
    lanes: lanes.store(),
    instance,
    log,
    ...(options.stopNotifier && { stopNotifier: options.stopNotifier }),
    ...(options.clock && { clock: options.clock }),
  });
  for (const laneClass of classes) bus.register(budget(laneClass));
  return {
    bus,
    lanes,
    lines,
    runs,
    deadLetters,
    deadFails,
    async finish(run) {
      if (run === undefined) throw new Error('there is no such run');
      run.end({ kind: 'finished', step: await lanes.finish(run.head) });
    },
    async send(lane, dedupe) {
      const laneClass: LaneClass = lane.startsWith('in:') ? 'in' : lane.startsWith('out:') ? 'out' : 'poll';
      bus.runHeads(await lanes.append(lane, dedupe, { dedupe }, bus.claimingNode(laneClass)));
    },
  };
}
