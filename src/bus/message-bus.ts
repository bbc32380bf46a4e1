/** The message bus: the durable lanes of this node, claimed by sweeps and commits, run by actors, ended by stop marks. */
import type { LaneBudget, MessageBus } from '../contracts/bus.ts';
import type { LaneClass, LaneKey, LaneStep, LaneStore } from '../contracts/lanes.ts';
import { pause } from '../lib/sleep.ts';
import type { Log } from '../contracts/log.ts';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import { LaneWorkers } from './lane-workers.ts';
import { NodeLease } from './node-lease.ts';
import { startTicker } from './ticker.ts';
import type { Ticker } from './ticker.ts';
import type { StopNotifier } from './stop-notifier.ts';

/** How long a node that is not heard of keeps its lanes. */
export const LEASE_MS = 10_000;
/** How often a node renews its lease: three may fail before it runs out. */
export const HEARTBEAT_MS = 3_000;
/** How often due lanes are looked for: what no commit claimed starts this late at most. */
export const SWEEP_MS = 500;
/** How often the stop marks of running lanes are read, in one query. */
export const FLAGS_MS = 500;
/** Wishes for a sweep or a look at the marks within this time are one. */
const GAP_MS = 10;

export interface BusIntervals {
  leaseMs: number;
  heartbeatMs: number;
  sweepMs: number;
  flagsMs: number;
}

export interface MessageBusOptions {
  lanes: LaneStore;
  /** Kept in the home: a restarted process takes back at once what its predecessor held. */
  instance: string;
  log: Log;
  /** Stop hints from and to the other nodes; the event bus has them. Without them the marks are read in time. */
  hints?: StopNotifier;
  /** Default: the constants above. */
  intervals?: Partial<BusIntervals>;
  clock?: Clock;
}

/** Makes the message bus of this process. */
export function createMessageBus(options: MessageBusOptions): MessageBus {
  return new NodeMessageBus(options);
}

class NodeMessageBus implements MessageBus {
  readonly #options: MessageBusOptions;
  readonly #intervals: BusIntervals;
  readonly #lease: NodeLease;
  readonly #actors: LaneWorkers;
  #sweeps: Ticker | undefined;
  #flagLooks: Ticker | undefined;
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
    const onLost = (): void => this.#actors.loseAll();
    const onRegained = (): void => this.sweepSoon();
    this.#lease = new NodeLease({ lanes, instance, leaseMs, heartbeatMs, clock, log, onLost, onRegained });
    const onRoom = (): void => this.sweepSoon();
    this.#actors = new LaneWorkers({ lanes, log, node: () => this.#lease.node, onRoom });
  }

  register(budget: LaneBudget): void {
    this.#actors.register(budget);
  }

  async start(): Promise<void> {
    await this.#lease.start();
    const { log, hints } = this.#options;
    const { sweepMs, flagsMs } = this.#intervals;
    const sweep = (): Promise<void> => this.#sweep();
    const look = (): Promise<void> => this.#look();
    this.#sweeps = startTicker({ everyMs: sweepMs, gapMs: GAP_MS, run: sweep, log, name: 'sweep' });
    this.#flagLooks = startTicker({ everyMs: flagsMs, gapMs: GAP_MS, run: look, log, name: 'stop marks' });
    this.#unlisten = hints?.listen((lane) => this.#lookAt(lane));
  }

  stop(drainMs: number): Promise<void> {
    this.#stopped ??= this.#drain(drainMs);
    return this.#stopped;
  }

  runHeads(step: LaneStep): void {
    this.#actors.take(step.heads);
  }

  claimingNode(laneClass: LaneClass): string | undefined {
    if (this.#stopped !== undefined) return undefined;
    return this.#actors.hasRoom(laneClass) ? this.#lease.node : undefined;
  }

  notifyStop(lane: LaneKey): void {
    this.#lookAt(lane);
    this.#options.hints?.tell(lane);
  }

  sweepSoon(): void {
    this.#sweeps?.soon();
  }

  running(): Record<LaneClass, number> {
    return this.#actors.running();
  }

  async #sweep(): Promise<void> {
    const node = this.#lease.node;
    const rooms = this.#actors.rooms();
    if (node === undefined || rooms.length === 0) return;
    this.#actors.takeSwept(rooms, await this.#options.lanes.sweep(node, rooms));
  }

  async #look(): Promise<void> {
    const node = this.#lease.node;
    if (node === undefined || !this.#actors.any) return;
    this.#actors.noteFlags(await this.#options.lanes.flags(node));
  }

  #lookAt(lane: LaneKey): void {
    if (this.#actors.holds(lane)) this.#flagLooks?.soon();
  }

  async #drain(drainMs: number): Promise<void> {
    this.#unlisten?.();
    this.#actors.shutDown();
    const timeUp = new AbortController();
    const quiet = Promise.all([this.#sweeps?.stop(), this.#flagLooks?.stop(), this.#actors.idle()]);
    await Promise.race([quiet, pause(drainMs, timeUp.signal)]);
    timeUp.abort();
    this.#actors.close();
    await this.#lease.stop();
  }
}
