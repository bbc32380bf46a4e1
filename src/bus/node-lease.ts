/** This process as a node: its lease is renewed in time, or surrendered before another node can claim its lanes. */
import { type GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { StoreState } from '../protocol/bus.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Log } from '../protocol/log.ts';
import type { Clock } from '../lib/clock.ts';
import { startTicker, type Ticker } from './ticker.ts';

/** Longest wait of `stop` for the database to free the lanes, in milliseconds; otherwise they become free when the lease expires. */
export const UNREGISTER_MS = 2_000;
/** From when on a heartbeat without an answer means that the database is down, in milliseconds. */
export const HEARTBEAT_LATE_MS = 4_000;
/** Pause between two attempts to register again, in milliseconds. */
const REGISTER_GAP_MS = 100;

export interface NodeLeaseOptions {
  lanes: LaneStore;
  instance: string;
  leaseMs: number;
  heartbeatMs: number;
  clock: Clock;
  log: Log;
  /** The lease is gone: everything that runs under the old id must end. */
  onLost: () => void;
  /** Registered again after a loss. */
  onRegained: () => void;
}

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  #node: string | undefined;
  /** Monotonic time until which the lease is certainly valid: counted from before the renewing call. */
  #validUntil = 0;
  #watchdog: NodeJS.Timeout | undefined;
  #heartbeats: Ticker | undefined;
  #stopped = false;
  /** When the first heartbeat was sent that the database has not answered; undefined after an answer. */
  #unansweredSince: number | undefined;
  /** Why the last heartbeat failed; undefined after one that did not. */
  #failure: GatewayError | undefined;
  /** The lease that was lost because the database could not be reached, until it is registered again. */
  #cutOff: { node: string; since: number } | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
  }

  /**
   * The id under which this process holds lanes now. Compared with the clock at each call: after a pause of the process,
   * overdue work runs before the watchdog's timer.
   */
  get node(): string | undefined {
    return this.#options.clock.monotonicMs() < this.#validUntil ? this.#node : undefined;
  }

  /** What the last heartbeats, which are writes, say of the database. */
  get store(): StoreState {
    if (this.#failure !== undefined) return this.#failure.code === 'read_only' ? 'read_only' : 'down';
    const since = this.#unansweredSince;
    const isLate = since !== undefined && this.#options.clock.monotonicMs() - since >= HEARTBEAT_LATE_MS;
    return isLate ? 'down' : 'up';
  }

  /** Registers. Throws `StoreError` when the database cannot be reached. */
  async start(): Promise<void> {
    await this.#register();
    const { heartbeatMs, log } = this.#options;
    const run = async (): Promise<void> => {
      try {
        await this.#renew();
        this.#failure = undefined;
      } catch (error) {
        this.#failure = toGatewayError(error);
        throw error;
      }
    };
    this.#heartbeats = startTicker({
      everyMs: heartbeatMs,
      gapMs: REGISTER_GAP_MS,
      run,
      log,
      failure: 'heartbeat_failed',
    });
  }

  /** Ends the lease, so that the lanes become free at once. Never throws. */
  async stop(): Promise<void> {
    clearTimeout(this.#watchdog);
    this.#stopped = true;
    const node = this.#node;
    this.#node = undefined;
    const { lanes, log } = this.#options;
    const timeUp = new AbortController();
    const leave = async (): Promise<void> => {
      await this.#heartbeats?.stop();
      if (node !== undefined) await lanes.unregister(node);
    };
    await Promise.race([
      leave().catch((error: unknown) => log.warn({ err: error }, 'node_unregister_failed')),
      pause(UNREGISTER_MS, timeUp.signal),
    ]);
    timeUp.abort();
  }

  async #register(): Promise<void> {
    const { lanes, instance, leaseMs, clock } = this.#options;
    const askedAt = clock.monotonicMs();
    const cutOff = this.#cutOff;
    const outage = cutOff && { node: cutOff.node, ms: () => clock.monotonicMs() - cutOff.since };
    const node = await lanes.register(instance, leaseMs, outage);
    this.#cutOff = undefined;
    if (this.#stopped) {
      await lanes.unregister(node);
      return;
    }
    this.#node = node;
    this.#trustUntil(askedAt + leaseMs);
  }

  async #renew(): Promise<void> {
    const { lanes, leaseMs, clock, onRegained } = this.#options;
    const node = this.#node;
    if (node === undefined) {
      await this.#register();
      onRegained();
      // The lease counts from the request, which an outage may have delayed for seconds: renew it before it ends.
      this.#heartbeats?.runSoon();
      return;
    }
    const askedAt = clock.monotonicMs();
    this.#unansweredSince ??= askedAt;
    const renewed = await lanes.heartbeat(node, leaseMs);
    this.#unansweredSince = undefined;
    // In the meantime the watchdog may have surrendered the lease, or `stop` ended it.
    if (this.#node !== node) return;
    if (renewed) this.#trustUntil(askedAt + leaseMs);
    else this.#lose('renewal refused: another process may hold the lanes now');
  }

  #trustUntil(monotonicMs: number): void {
    this.#validUntil = monotonicMs;
    this.#watch();
  }

  /** Checks again when the lease would expire: a heartbeat that hangs or fails must not keep stale work running. */
  #watch(): void {
    clearTimeout(this.#watchdog);
    const remainingMs = this.#validUntil - this.#options.clock.monotonicMs();
    if (remainingMs <= 0) this.#loseUnrenewed();
    else this.#watchdog = setTimeout(() => this.#watch(), remainingMs);
  }

  /** If heartbeats were sent in time, the database was unreachable. If not, the process stalled, possibly because of a turn. */
  #loseUnrenewed(): void {
    const node = this.#node;
    const since = this.#unansweredSince;
    if (node !== undefined && since !== undefined && since < this.#validUntil) this.#cutOff = { node, since };
    this.#lose('no heartbeat reached the database in time');
  }

  #lose(reason: string): void {
    if (this.#node === undefined) return;
    this.#options.log.warn({ node: this.#node, reason }, 'lease_lost');
    this.#node = undefined;
    clearTimeout(this.#watchdog);
    this.#options.onLost();
    this.#heartbeats?.runSoon();
  }
}
