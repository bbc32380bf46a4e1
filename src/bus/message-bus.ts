/** The message bus: the durable lanes of this node, claimed by sweeps and commits, run by workers, ended by stop marks. */
import type { LaneBudget, MessageBus, StoreState } from '../protocol/bus.ts';
import { type LaneClass, type LaneKey, type LaneStore, SUSPECT_ALONE_MS } from '../protocol/store/lanes.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Log } from '../protocol/log.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { LaneWorkers } from './lane-workers.ts';
import { NodeLease } from './node-lease.ts';
import { startTicker, type Ticker } from './ticker.ts';

/** A node without a heartbeat keeps its lanes for this long. */
export const LEASE_MS = 10_000;
/** Time between two renewals of the lease: three may fail before it expires. */
export const HEARTBEAT_MS = 3_000;
/** Time between two sweeps for due lanes: what no commit claimed starts at most this late. */
export const SWEEP_MS = 500;
/** Time between two reads of the stop marks of running lanes, in one query. */
export const FLAGS_MS = 500;
/** Requests for a sweep or for reading the marks within this time are merged. */
const GAP_MS = 10;

/** Tells the other nodes about a new stop mark before their next read of the marks. */
export interface StopNotifier {
  /** Tells the other nodes. Never throws; may be lost. */
  notify(lane: LaneKey): void;
  /** Calls `listener` for each lane another node reports; returns the function that ends it. */
  listen(listener: (lane: LaneKey) => void): () => void;
}

export interface BusIntervals {
  leaseMs: number;
  heartbeatMs: number;
  sweepMs: number;
  flagsMs: number;
}

export interface MessageBusOptions {
  lanes: LaneStore;
  /** Stored in the home directory: a restarted process takes back the lanes of its predecessor at once. */
  instance: string;
  log: Log;
  /** Without it, the marks of other nodes are read at the next interval. */
  stopNotifier?: StopNotifier;
  /** Default: the constants above. */
  intervals?: Partial<BusIntervals>;
  clock?: Clock;
}

/** Makes the message bus of this process. */
export function createMessageBus(options: MessageBusOptions): MessageBus {
  return new NodeMessageBus(options);
}

class NodeMessageBus implements MessageBus {
  readonly runHeads: MessageBus['runHeads'];
  readonly #options: MessageBusOptions;
  readonly #intervals: BusIntervals;
  readonly #lease: NodeLease;
  readonly #workers: LaneWorkers;
  #sweeps: Ticker | undefined;
  #flagReads: Ticker | undefined;
  #unlisten: (() => void) | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: MessageBusOptions) {
    const { lanes, instance, log, clock = systemClock } = options;
    this.#options = options;
    this.#intervals = {
      leaseMs: LEASE_MS,
      heartbeatMs: HEARTBEAT_MS,
      sweepMs: SWEEP_MS,
      flagsMs: FLAGS_MS,
      ...options.intervals,
    };
    const { leaseMs, heartbeatMs } = this.#intervals;
    const onLost = (): void => this.#workers.abortAll('lease_lost');
    const onRegained = (): void => this.sweepSoon();
    this.#lease = new NodeLease({ lanes, instance, leaseMs, heartbeatMs, clock, log, onLost, onRegained });
    const onFree = (): void => this.sweepSoon();
    this.#workers = new LaneWorkers({ lanes, log, node: () => this.#lease.node, onFree });
    this.runHeads = this.#workers.runHeads;
  }

  register(budget: LaneBudget): void {
    this.#workers.register(budget);
  }

  async start(): Promise<void> {
    await this.#lease.start();
    const { log, stopNotifier } = this.#options;
    const { sweepMs, flagsMs } = this.#intervals;
    const sweep = (): Promise<number | void> => this.#sweep();
    const readFlags = (): Promise<void> => this.#readFlags();
    this.#sweeps = startTicker({ everyMs: sweepMs, gapMs: GAP_MS, run: sweep, log, failure: 'sweep_failed' });
    this.#flagReads = startTicker({
      everyMs: flagsMs,
      gapMs: GAP_MS,
      run: readFlags,
      log,
      failure: 'stop_marks_failed',
    });
    this.#unlisten = stopNotifier?.listen((lane) => this.#checkMark(lane));
  }

  stop(drainMs: number): Promise<void> {
    this.#stopped ??= this.#drain(drainMs);
    return this.#stopped;
  }

  claimingNode(laneClass: LaneClass): string | undefined {
    if (this.#stopped !== undefined) return undefined;
    return this.#workers.hasCapacity(laneClass) ? this.#lease.node : undefined;
  }

  lease(): string | undefined {
    return this.#lease.node;
  }

  store(): StoreState {
    return this.#lease.store;
  }

  notifyStop(lane: LaneKey): void {
    this.#checkMark(lane);
    this.#options.stopNotifier?.notify(lane);
  }

  sweepSoon(): void {
    this.#sweeps?.runSoon();
  }

  running(): Record<LaneClass, number> {
    return this.#workers.running();
  }

  /** While a suspect runs, the next sweep runs when the others no longer have to wait for it. */
  async #sweep(): Promise<number | void> {
    const node = this.#lease.node;
    const capacities = this.#workers.capacities();
    if (node === undefined || capacities.length === 0) return;
    this.#workers.runSwept(capacities, await this.#options.lanes.sweep(node, capacities));
    if (this.#workers.anySuspect) return SUSPECT_ALONE_MS;
  }

  async #readFlags(): Promise<void> {
    const node = this.#lease.node;
    if (node === undefined || !this.#workers.any) return;
    this.#workers.applyFlags(await this.#options.lanes.flags(node));
  }

  #checkMark(lane: LaneKey): void {
    if (this.#workers.holds(lane)) this.#flagReads?.runSoon();
  }

  async #drain(drainMs: number): Promise<void> {
    this.#unlisten?.();
    this.#workers.shutDown();
    const timeUp = new AbortController();
    const quiet = Promise.all([this.#sweeps?.stop(), this.#flagReads?.stop(), this.#workers.idle()]);
    await Promise.race([quiet, pause(drainMs, timeUp.signal)]);
    timeUp.abort();
    this.#workers.close();
    await this.#lease.stop();
  }
}
