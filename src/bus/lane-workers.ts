/** The workers of this node, one per lane: which heads run, which wait for capacity, and which must end. */
import { LaneAbort, type LaneBudget } from '../protocol/bus.ts';
import {
  LANE_CLASSES,
  type LaneCapacity,
  type LaneClass,
  type LaneFlag,
  type LaneHead,
  type LaneKey,
  type LaneStep,
  type LaneStore,
  SUSPECT_CRASHES,
} from '../protocol/store/lanes.ts';
import type { Log } from '../protocol/log.ts';
import { attemptHead } from './attempt.ts';

/**
 * Heads of one class that may wait here for capacity, at most one per lane. Beyond it a head is released at once and
 * returns with a sweep.
 */
export const MAX_WAITING_HEADS = 1_024;

interface Worker {
  head: LaneHead;
  abort: AbortController;
  /** The lane was claimed for this node again while an earlier attempt was still finishing: run this one next. */
  next: LaneHead | undefined;
}

interface WorkerPool extends LaneBudget {
  busy: number;
  /** Claimed heads in the order they arrived. */
  waiting: Map<LaneKey, LaneHead>;
  /**
   * Something was left unclaimed. Until a sweep finds nothing waiting, only sweeps admit heads: they know what has waited
   * longest.
   */
  starved: boolean;
}

export interface LaneWorkersOptions {
  lanes: LaneStore;
  log: Log;
  /** The node id under which lanes are held now. */
  node: () => string | undefined;
  /** A class that had rejected a head has capacity again, or a suspect ended and others may run. */
  onFree: () => void;
}

export class LaneWorkers {
  readonly #options: LaneWorkersOptions;
  readonly #pools = new Map<LaneClass, WorkerPool>();
  readonly #closed = new AbortController();
  readonly #workers = new Map<LaneKey, Worker>();
  /** Attempts and releases in progress. */
  readonly #pending = new Set<Promise<void>>();
  #closing = false;

  /** Runs claimed heads now or when there is capacity. A newer head of a lane replaces the older one. Never throws. */
  readonly runHeads = ({ heads }: LaneStep, isSwept = false): void => {
    for (const head of heads) {
      const pool = this.#poolFor(head);
      if (pool === undefined) continue;
      const worker = this.#workers.get(head.lane);
      const current = worker === undefined ? pool.waiting.get(head.lane) : (worker.next ?? worker.head);
      const isFull = current === undefined && pool.waiting.size >= MAX_WAITING_HEADS;
      if (isFull || (pool.starved && !isSwept)) this.#release(head);
      else if (current !== undefined && !isNewer(head, current)) continue;
      else if (worker !== undefined) worker.next = head;
      else pool.waiting.set(head.lane, head);
    }
    for (const pool of this.#pools.values()) {
      for (const head of pool.waiting.values()) {
        if (this.#closing || pool.busy >= pool.concurrency) break;
        const worker = this.#addWorker(pool, head);
        const attempt = attemptHead(head, worker.abort.signal, this.#attemptDeps(pool));
        this.#track(attempt.then((next) => this.#ended(pool, worker, next)));
      }
    }
    this.#reportRegained();
    for (const { lane } of heads) this.#forgetOpened(lane);
  };

  constructor(options: LaneWorkersOptions) {
    this.#options = options;
  }

  /** Adds a class of lanes; before this its heads are left to other nodes. */
  register(budget: LaneBudget): void {
    this.#pools.set(budget.class, { ...budget, busy: 0, waiting: new Map(), starved: false });
  }

  get any(): boolean {
    return this.#workers.size > 0;
  }

  /** True while a head is running that was being worked on at several deaths. */
  get anySuspect(): boolean {
    return [...this.#workers.values()].some(({ head }) => isSuspect(head));
  }

  holds(lane: LaneKey): boolean {
    return this.#workers.has(lane);
  }

  running(): Record<LaneClass, number> {
    const busy = (laneClass: LaneClass): number => this.#pools.get(laneClass)?.busy ?? 0;
    return {
      in: busy('in'),
      out: busy('out'),
      agent: busy('agent'),
      poll: busy('poll'),
      speech: busy('speech'),
      hook: busy('hook'),
      push: busy('push'),
    };
  }

  /** True when one more head of the class could start now; a refusal is remembered until capacity becomes free. */
  hasCapacity(laneClass: LaneClass): boolean {
    const pool = this.#pools.get(laneClass);
    if (pool === undefined) return false;
    if (capacityOf(pool) > 0) return true;
    pool.starved = true;
    return false;
  }

  /** What a sweep may claim. */
  capacities(): LaneCapacity[] {
    return [...this.#pools.values()]
      .map((pool) => ({ class: pool.class, free: capacityOf(pool) }))
      .filter(({ free }) => free > 0);
  }

  /** Runs heads that a sweep claimed; a capacity that is used up means that there may be more. Never throws. */
  runSwept(capacities: readonly LaneCapacity[], heads: LaneHead[]): void {
    for (const { class: laneClass, free } of capacities) {
      const pool = this.#pools.get(laneClass);
      const claimed = heads.filter((head) => classOf(head.lane) === laneClass).length;
      if (pool !== undefined && claimed >= free) pool.starved = true;
    }
    this.runHeads({ heads }, true);
  }

  /** Ends what runs at or before a lane's stop mark, or what is interrupted. */
  applyFlags(flags: readonly LaneFlag[]): void {
    for (const { lane, stopSeq, interruptSeq } of flags) {
      const worker = this.#workers.get(lane);
      if (worker !== undefined) {
        if (worker.head.seq <= stopSeq) worker.abort.abort(new LaneAbort('stopped'));
        else if (worker.head.seq === interruptSeq) worker.abort.abort(new LaneAbort('interrupted'));
        if (worker.next !== undefined) worker.next = markStopped(worker.next, stopSeq);
      }
      const queue = this.#pools.get(classOf(lane))?.waiting;
      const head = queue?.get(lane);
      if (head !== undefined) queue?.set(lane, markStopped(head, stopSeq));
    }
  }

  /** Ends everything: nothing that was claimed under this lease may continue or start. */
  abortAll(code: 'lease_lost' | 'shutdown'): void {
    for (const pool of this.#pools.values()) pool.waiting.clear();
    for (const worker of this.#workers.values()) {
      worker.next = undefined;
      worker.abort.abort(new LaneAbort(code));
    }
  }

  /** Admits nothing more and asks everything that is running to end. */
  shutDown(): void {
    this.#closing = true;
    this.abortAll('shutdown');
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Ends the waits of workers that are still running after the drain. */
  close(): void {
    this.#closed.abort();
  }

  /** The pool that runs this head; undefined when this node must not run it. */
  #poolFor(head: LaneHead): WorkerPool | undefined {
    // Claimed under an id whose lease has ended, or while closing: the lane becomes free on its own.
    if (this.#closing || head.node !== this.#options.node()) return undefined;
    const pool = this.#pools.get(classOf(head.lane));
    if (pool === undefined) this.#release(head);
    return pool;
  }

  /** Reports capacity that is left after a shortage. */
  #reportRegained(): void {
    if (this.#closing) return;
    const regained = [...this.#pools.values()].filter((pool) => pool.starved && capacityOf(pool) > 0);
    for (const pool of regained) pool.starved = false;
    if (regained.length > 0) this.#options.onFree();
  }

  /** Makes a waiting head one that is worked on. */
  #addWorker(pool: WorkerPool, head: LaneHead): Worker {
    const worker: Worker = { head, abort: new AbortController(), next: undefined };
    if (head.stopped) worker.abort.abort(new LaneAbort('stopped'));
    pool.waiting.delete(head.lane);
    this.#workers.set(head.lane, worker);
    pool.busy += 1;
    return worker;
  }

  /** What was read for an immediate start is stale by the time a head has waited. */
  #forgetOpened(lane: LaneKey): void {
    const waitingHead = this.#pools.get(classOf(lane))?.waiting.get(lane);
    const { next } = this.#workers.get(lane) ?? {};
    for (const head of [waitingHead, next]) if (head !== undefined) delete head.opened;
  }

  #ended(pool: WorkerPool, worker: Worker, heads: LaneHead[]): void {
    this.#workers.delete(worker.head.lane);
    pool.busy -= 1;
    if (worker.next !== undefined) pool.waiting.set(worker.next.lane, worker.next);
    this.runHeads({ heads });
    if (isSuspect(worker.head)) this.#options.onFree();
  }

  #attemptDeps({ handler }: WorkerPool): Parameters<typeof attemptHead>[2] {
    const { lanes, log, node } = this.#options;
    return { handler, lanes, log, isMine: (head) => head.node === node(), closed: this.#closed.signal };
  }

  #release(head: LaneHead): void {
    const { lanes, log } = this.#options;
    const { lane, seq } = head;
    const released = lanes.release(head, { delayMs: 0, attempt: false });
    this.#track(
      released.catch((error: unknown) => log.warn({ err: error, lane, laneSeq: seq }, 'lane_release_failed')),
    );
  }

  #track(work: Promise<void>): void {
    const completion: Promise<void> = work.finally(() => this.#pending.delete(completion));
    this.#pending.add(completion);
  }
}

function isSuspect({ crashes }: LaneHead): boolean {
  return crashes >= SUSPECT_CRASHES;
}

function classOf(lane: LaneKey): LaneClass {
  return LANE_CLASSES.find((name) => lane.startsWith(`${name}:`)) ?? 'poll';
}

function capacityOf(pool: WorkerPool): number {
  return Math.max(0, pool.concurrency - pool.busy - pool.waiting.size);
}

function isNewer(head: LaneHead, other: LaneHead): boolean {
  return head.epoch > other.epoch || (head.epoch === other.epoch && head.seq > other.seq);
}

function markStopped(head: LaneHead, stopSeq: number): LaneHead {
  return head.seq <= stopSeq ? { ...head, stopped: true } : head;
}
