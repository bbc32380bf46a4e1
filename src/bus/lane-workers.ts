/** One actor per lane on this node: who runs, who waits for room, and who must end. */
import { LaneAbort } from '../contracts/bus.ts';
import type { LaneBudget } from '../contracts/bus.ts';
import type { LaneClass, LaneFlag, LaneHead, LaneKey, LaneCapacity, LaneStore } from '../contracts/lanes.ts';
import type { Log } from '../contracts/log.ts';
import { attemptHead } from './attempt.ts';

/**
 * Heads of one class that may wait here for room. They are few by nature (at most one per lane, and only a finished
 * head brings further ones); past the bound a head is let go at once and comes back with a sweep.
 */
export const MAX_WAITING_HEADS = 1_024;

interface Actor {
  head: LaneHead;
  abort: AbortController;
  /** The lane was claimed for this node again while an earlier attempt was still ending: run this one next. */
  again: LaneHead | undefined;
}

interface WorkerPool extends LaneBudget {
  busy: number;
  /** Claimed heads in the order they came. */
  waiting: Map<LaneKey, LaneHead>;
  /**
   * Something was left unclaimed for lack of room. From then on until a sweep finds nobody waiting, only sweeps admit:
   * they know who has waited longest, while a busy lane's next head would take the room of a lane never looked at.
   */
  starved: boolean;
}

export interface LaneWorkersOptions {
  lanes: LaneStore;
  log: Log;
  /** The node id under which lanes are held now. */
  node: () => string | undefined;
  /** Room came free for a class that had turned something away. */
  onRoom: () => void;
}

export class LaneWorkers {
  readonly #options: LaneWorkersOptions;
  readonly #crews = new Map<LaneClass, WorkerPool>();
  readonly #closed = new AbortController();
  #actors = new Map<LaneKey, Actor>();
  #lives = new Set<Promise<void>>();
  #closing = false;

  constructor(options: LaneWorkersOptions) {
    this.#options = options;
  }

  register(budget: LaneBudget): void {
    this.#crews.set(budget.class, { ...budget, busy: 0, waiting: new Map(), starved: false });
  }

  get any(): boolean {
    return this.#actors.size > 0;
  }

  holds(lane: LaneKey): boolean {
    return this.#actors.has(lane);
  }

  running(): Record<LaneClass, number> {
    const busy = (laneClass: LaneClass): number => this.#crews.get(laneClass)?.busy ?? 0;
    return { in: busy('in'), out: busy('out'), agent: busy('agent'), poll: busy('poll') };
  }

  /** True when one more head of the class could start now; a no is remembered until room comes free. */
  hasRoom(laneClass: LaneClass): boolean {
    const crew = this.#crews.get(laneClass);
    if (crew === undefined) return false;
    if (roomOf(crew) > 0) return true;
    crew.starved = true;
    return false;
  }

  /** What a sweep may claim. */
  rooms(): LaneCapacity[] {
    return [...this.#crews.values()]
      .map((crew) => ({ class: crew.class, free: roomOf(crew) }))
      .filter(({ free }) => free > 0);
  }

  /** Runs heads that a commit claimed for this node, now or when there is room. Never throws. */
  take(heads: readonly LaneHead[]): void {
    for (const head of heads) {
      const crew = this.#crewFor(head);
      if (crew?.starved === true) this.#letGo(head);
      else if (crew !== undefined) this.#admit(crew, head);
    }
    this.#pump();
  }

  /** Runs heads that a sweep for these rooms claimed; a filled room means that there may be more. Never throws. */
  takeSwept(rooms: readonly LaneCapacity[], heads: readonly LaneHead[]): void {
    for (const head of heads) {
      const crew = this.#crewFor(head);
      if (crew !== undefined) this.#admit(crew, head);
    }
    for (const { class: laneClass, free } of rooms) {
      const crew = this.#crews.get(laneClass);
      const claimed = heads.filter((head) => classOf(head.lane) === laneClass).length;
      if (crew !== undefined && claimed >= free) crew.starved = true;
    }
    this.#pump();
  }

  /** Ends what runs at or before a lane's stop mark, or what is interrupted. */
  noteFlags(flags: readonly LaneFlag[]): void {
    for (const { lane, stopSeq, interruptSeq } of flags) {
      const actor = this.#actors.get(lane);
      if (actor !== undefined) {
        if (actor.head.seq <= stopSeq) actor.abort.abort(new LaneAbort('stopped'));
        else if (actor.head.seq === interruptSeq) actor.abort.abort(new LaneAbort('interrupted'));
        if (actor.again !== undefined) actor.again = markStopped(actor.again, stopSeq);
      }
      const waiting = this.#crews.get(classOf(lane))?.waiting;
      const head = waiting?.get(lane);
      if (head !== undefined) waiting?.set(lane, markStopped(head, stopSeq));
    }
  }

  /** The lease is gone: nothing that was claimed under it may go on or begin. */
  loseAll(): void {
    for (const crew of this.#crews.values()) crew.waiting.clear();
    for (const actor of this.#actors.values()) {
      actor.again = undefined;
      actor.abort.abort(new LaneAbort('lease_lost'));
    }
  }

  /** Takes nothing more and asks all that runs to end. */
  shutDown(): void {
    this.#closing = true;
    for (const crew of this.#crews.values()) crew.waiting.clear();
    for (const actor of this.#actors.values()) {
      actor.again = undefined;
      actor.abort.abort(new LaneAbort('shutdown'));
    }
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#lives.size > 0) await Promise.all(this.#lives);
  }

  /** Ends waits of actors that outlived the drain. */
  close(): void {
    this.#closed.abort();
  }

  /** Who runs this head; undefined when it is not for this node to run. */
  #crewFor(head: LaneHead): WorkerPool | undefined {
    // Claimed under an id whose lease is gone, or while closing: the lane becomes free without us.
    if (this.#closing || head.node !== this.#options.node()) return undefined;
    const crew = this.#crews.get(classOf(head.lane));
    if (crew === undefined) this.#letGo(head);
    return crew;
  }

  #admit(crew: WorkerPool, head: LaneHead): void {
    const actor = this.#actors.get(head.lane);
    const other = actor === undefined ? crew.waiting.get(head.lane) : (actor.again ?? actor.head);
    if (other !== undefined && !isNewer(head, other)) return;
    if (actor !== undefined) actor.again = head;
    else if (other === undefined && crew.waiting.size >= MAX_WAITING_HEADS) this.#letGo(head);
    else crew.waiting.set(head.lane, head);
  }

  #pump(): void {
    if (this.#closing) return;
    let room = false;
    for (const crew of this.#crews.values()) {
      for (const [lane, head] of crew.waiting) {
        if (crew.busy >= crew.concurrency) break;
        crew.waiting.delete(lane);
        this.#start(crew, head);
      }
      if (!crew.starved || roomOf(crew) === 0) continue;
      crew.starved = false;
      room = true;
    }
    if (room) this.#options.onRoom();
  }

  #start(crew: WorkerPool, head: LaneHead): void {
    const actor: Actor = { head, abort: new AbortController(), again: undefined };
    if (head.stopped) actor.abort.abort(new LaneAbort('stopped'));
    this.#actors.set(head.lane, actor);
    crew.busy += 1;
    this.#follow(this.#live(crew, actor));
  }

  async #live(crew: WorkerPool, actor: Actor): Promise<void> {
    const { lanes, log } = this.#options;
    const left = await attemptHead(actor.head, actor.abort.signal, {
      handler: crew.handler,
      lanes,
      log,
      isMine: (head) => head.node === this.#options.node(),
      closed: this.#closed.signal,
    });
    this.#actors.delete(actor.head.lane);
    crew.busy -= 1;
    if (actor.again !== undefined) this.#admit(crew, actor.again);
    this.take(left);
  }

  #letGo(head: LaneHead): void {
    const { lanes, log } = this.#options;
    const { lane } = head;
    const released = lanes.release(head, { delayMs: 0, attempt: false });
    this.#follow(released.catch((error: unknown) => log.warn({ err: error, lane }, 'a lane was not let go')));
  }

  #follow(life: Promise<void>): void {
    const done: Promise<void> = life.finally(() => this.#lives.delete(done));
    this.#lives.add(done);
  }
}

const CLASSES: readonly LaneClass[] = ['in', 'out', 'agent', 'poll'];

function classOf(lane: LaneKey): LaneClass {
  return CLASSES.find((name) => lane.startsWith(`${name}:`)) ?? 'poll';
}

function roomOf(crew: WorkerPool): number {
  return Math.max(0, crew.concurrency - crew.busy - crew.waiting.size);
}

function isNewer(head: LaneHead, other: LaneHead): boolean {
  return head.epoch > other.epoch || (head.epoch === other.epoch && head.seq > other.seq);
}

function markStopped(head: LaneHead, stopSeq: number): LaneHead {
  return head.seq <= stopSeq ? { ...head, stopped: true } : head;
}
