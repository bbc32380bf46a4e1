/** In-memory lanes, as strict as the store's about fences and leases, with failure injection: for tests of their driver. */
import { FencedError, StoreError } from '../../src/protocol/errors.ts';
import type {
  Fence,
  LaneHead,
  LaneKey,
  LaneCapacity,
  LaneStep,
  LaneStore,
  NodeOutage,
} from '../../src/protocol/store/lanes.ts';

interface Message {
  dedupe: string;
  payload: unknown;
  attempts: number;
  crashes: number;
  loneCrashes: number;
  waitedMs: number;
  error?: string;
  dead?: boolean;
}

interface Lane {
  key: LaneKey;
  messages: Message[];
  head: number;
  owner: string | undefined;
  epoch: number;
  wakeAt: number;
  stopSeq: number;
}

type Driven = 'register' | 'heartbeat' | 'unregister' | 'sweep' | 'flags' | 'append' | 'finish' | 'release';

const now = (): number => performance.now();

/** The part of a `LaneStore` that the bus drives; the rest throws. */
export class MemoryLanes implements Pick<LaneStore, Driven> {
  #nodes = new Map<string, { instance: string; leaseUntil: number }>();
  #lanes = new Map<LaneKey, Lane>();
  /** Calls so far, by name. */
  calls: Partial<Record<Driven, number>> = {};
  /** Methods that fail as if the database were unavailable. */
  away = new Set<Driven>();
  /** Methods that do not answer until the promise resolves. */
  hanging = new Map<Driven, Promise<void>>();
  /** Delays the answer of `flags` after it was computed, the way a slow network does. */
  slowFlags: Promise<void> | undefined;

  async register(instance: string, leaseMs: number, outage?: NodeOutage): Promise<string> {
    await this.#enter('register');
    for (const lane of this.#lanes.values())
      if (outage !== undefined && lane.owner === outage.node) lane.owner = undefined;
    for (const node of this.#nodes.values()) if (node.instance === instance) node.leaseUntil = 0;
    const id = `${instance}-${this.#nodes.size}`;
    this.#nodes.set(id, { instance, leaseUntil: now() + leaseMs });
    this.#reclaimFromDead();
    return id;
  }

  async heartbeat(node: string, leaseMs: number): Promise<boolean> {
    await this.#enter('heartbeat');
    const row = this.#nodes.get(node);
    if (row === undefined || row.leaseUntil <= now()) return false;
    row.leaseUntil = now() + leaseMs;
    return true;
  }

  async unregister(node: string): Promise<void> {
    await this.#enter('unregister');
    const row = this.#nodes.get(node);
    if (row !== undefined) row.leaseUntil = 0;
    for (const lane of this.#lanes.values()) if (lane.owner === node) lane.owner = undefined;
  }

  async sweep(node: string, capacities: LaneCapacity[]): Promise<LaneHead[]> {
    await this.#enter('sweep');
    if (!this.#isLive(node)) return [];
    this.#reclaimFromDead();
    const due = [...this.#lanes.values()]
      .filter((lane) => lane.owner === undefined && lane.wakeAt <= now() && lane.head < lane.messages.length)
      .sort((a, b) => a.wakeAt - b.wakeAt);
    return capacities.flatMap(({ class: name, free }) =>
      due
        .filter((lane) => lane.key.startsWith(`${name}:`))
        .slice(0, free)
        .map((lane) => this.#claim(lane, node)),
    );
  }

  async flags(node: string): Promise<{ lane: LaneKey; stopSeq: number }[]> {
    await this.#enter('flags');
    const marked = [...this.#lanes.values()]
      .filter((lane) => lane.owner === node && lane.stopSeq > lane.head)
      .map((lane) => ({ lane: lane.key, stopSeq: lane.stopSeq }));
    await this.slowFlags;
    return marked;
  }

  async append(key: LaneKey, dedupe: string, payload: unknown, node?: string) {
    await this.#enter('append');
    const lane = this.lane(key);
    const known = lane.messages.findIndex((message) => message.dedupe === dedupe);
    if (known >= 0) return { seq: known + 1, duplicate: true, heads: [] };
    lane.messages.push({ dedupe, payload, attempts: 0, crashes: 0, loneCrashes: 0, waitedMs: 0 });
    const free = lane.owner === undefined && lane.wakeAt <= now();
    const heads = free && this.#isLive(node) ? [this.#claim(lane, node)] : [];
    return { seq: lane.messages.length, duplicate: false, heads };
  }

  async finish(fence: Fence, error?: string): Promise<LaneStep> {
    await this.#enter('finish');
    const lane = this.#held(fence);
    Object.assign(lane.messages[lane.head] ?? {}, error === undefined ? {} : { error, dead: true });
    lane.head += 1;
    lane.owner = undefined;
    return { heads: lane.head < lane.messages.length ? [this.#claim(lane, fence.node)] : [] };
  }

  async release(fence: Fence, options: { delayMs: number; attempt: boolean; error?: string }): Promise<void> {
    await this.#enter('release');
    const lane = this.#held(fence);
    const message = lane.messages[lane.head];
    if (message !== undefined && options.attempt) message.attempts += 1;
    if (message !== undefined && options.error !== undefined) {
      message.error = options.error;
      message.waitedMs += options.delayMs;
    }
    lane.owner = undefined;
    lane.wakeAt = now() + options.delayMs;
  }

  /** The current lane; created when new. */
  lane(key: LaneKey): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { key, messages: [], head: 0, owner: undefined, epoch: 0, wakeAt: 0, stopSeq: 0 };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  /** Sets the stop mark at the tail. */
  markStop(key: LaneKey): void {
    const lane = this.lane(key);
    lane.stopSeq = lane.messages.length;
  }

  /** Ends a node's lease behind its back. */
  expire(node: string | undefined): void {
    const row = this.#nodes.get(node ?? '');
    if (row !== undefined) row.leaseUntil = 0;
  }

  /** As the full interface, for code that needs one. */
  store(): LaneStore {
    const refuse = (): Promise<never> =>
      Promise.reject(new StoreError('unavailable', 'not driven by the bus'));
    return {
      register: (...args) => this.register(...args),
      heartbeat: (...args) => this.heartbeat(...args),
      unregister: (...args) => this.unregister(...args),
      sweep: (...args) => this.sweep(...args),
      flags: (...args) => this.flags(...args),
      append: (...args) => this.append(...args),
      finish: (fence, error) => this.finish(fence, error),
      release: (...args) => this.release(...args),
      endDelay: refuse,
      noteWaiting: refuse,
      stop: refuse,
      park: refuse,
      parkForCaller: refuse,
      alsoAsk: refuse,
      decide: refuse,
      undoAnswer: refuse,
      deadLetters: refuse,
      replayDeadLetter: refuse,
      purge: refuse,
    };
  }

  async #enter(name: Driven): Promise<void> {
    this.calls[name] = (this.calls[name] ?? 0) + 1;
    await this.hanging.get(name);
    if (this.away.has(name))
      throw new StoreError('unavailable', 'the database is unreachable', { retryable: true });
  }

  #held(fence: Fence): Lane {
    const lane = this.lane(fence.lane);
    if (lane.owner !== fence.node || lane.epoch !== fence.epoch || lane.head !== fence.seq - 1) {
      throw new FencedError(fence.lane);
    }
    return lane;
  }

  #claim(lane: Lane, node: string): LaneHead {
    lane.owner = node;
    lane.epoch += 1;
    const { dedupe, payload, attempts, crashes, loneCrashes, waitedMs } = lane.messages[lane.head] ?? {
      dedupe: '',
      payload: null,
      attempts: 0,
      crashes: 0,
      loneCrashes: 0,
      waitedMs: 0,
    };
    const stopped = lane.stopSeq > lane.head;
    return {
      lane: lane.key,
      node,
      epoch: lane.epoch,
      seq: lane.head + 1,
      dedupe,
      payload,
      attempts,
      crashes,
      loneCrashes,
      waitedMs,
      unreported: 0,
      stopped,
    };
  }

  #isLive(node: string | undefined): node is string {
    return node !== undefined && (this.#nodes.get(node)?.leaseUntil ?? 0) > now();
  }

  #reclaimFromDead(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.owner === undefined || this.#isLive(lane.owner)) continue;
      lane.owner = undefined;
      const message = lane.messages[lane.head];
      if (message !== undefined) message.crashes += 1;
    }
  }
}
