/** When a new session may start: Discord resets the token of a bot that starts more than about 1,000 a day. */
import type { ConnectionRecord, ConnectionStore } from '../../../src/protocol/receive.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import type { BudgetKeys, SessionStartLimit } from './shard.ts';

/** Sessions of each day that are never used: the owner may need them, and no one knows when Discord's day begins. */
const RESERVED_SESSIONS = 50;
/** A session that lived this long was healthy, and the next one need not wait. */
const SOUND_SESSION_MS = 5 * 60_000;
/** Longest wait after unhealthy sessions, in milliseconds: it allows fewer than 200 a day. */
const BACKOFF_CAP_MS = 600_000;
const DAY_MS = 24 * 3_600_000;
/** Nodes that wait for the same connection identify at different times, up to this much later, in milliseconds. */
export const JITTER_MS = 1_500;

/** Counts sessions in the store, so that the count survives restarts and covers all nodes. Throws only `StoreError`. */
export class IdentifyBudget {
  readonly #connections: ConnectionStore;
  readonly #epochNow: () => number;
  readonly #spacingMs: number;
  readonly #random: () => number;

  /** `spacingMs`: minimum time between two identifies, and the wait after the first unhealthy session. */
  constructor(
    connections: ConnectionStore,
    epochNow: () => number,
    spacingMs: number,
    random: () => number = Math.random,
  ) {
    this.#random = random;
    this.#connections = connections;
    this.#epochNow = epochNow;
    this.#spacingMs = spacingMs;
  }

  /** Milliseconds until another session may start, given how this connection's last sessions ended. */
  async waitMs(session: string): Promise<number> {
    const record = await this.#connections.connection(session);
    if (record === undefined) return 0;
    const short = shortSessions(record);
    const backOffMs = short === 0 ? 0 : backOff(short, this.#spacingMs);
    return this.#msLeft(record, Math.max(this.#spacingMs, backOffMs));
  }

  /** Milliseconds until connections that may not identify at the same time have done so. */
  async groupWaitMs({ group }: BudgetKeys): Promise<number> {
    const record = await this.#connections.connection(group);
    const waitMs = record === undefined ? 0 : this.#msLeft(record, this.#spacingMs);
    return waitMs === 0 ? 0 : waitMs + this.#random() * JITTER_MS;
  }

  /** A clock that was set back must not lengthen the wait. */
  #msLeft({ begunAt }: ConnectionRecord, leastMs: number): number {
    if (begunAt === undefined) return 0;
    return Math.min(leastMs, Math.max(0, begunAt + leastMs - this.#epochNow()));
  }

  /** Milliseconds until the day's limit ends; undefined while sessions beyond the reserve are left. */
  async exhaustedMs({ all }: BudgetKeys, limit: SessionStartLimit): Promise<number | undefined> {
    const records = await Promise.all(all.map(async (key) => await this.#connections.connection(key)));
    const today = records.filter((record) => record?.day === dayOf(this.#epochNow()));
    const startCount = today.reduce((sum, record) => sum + (record?.begunOnDay ?? 0), 0);
    if (limit.remaining < RESERVED_SESSIONS) return Math.max(limit.reset_after, this.#spacingMs);
    return limit.total - startCount < RESERVED_SESSIONS ? DAY_MS - (this.#epochNow() % DAY_MS) : undefined;
  }

  /** Counts the session that is about to start; false if another has started in the meantime, here or on another node. */
  async count({ session, group }: BudgetKeys): Promise<boolean> {
    const connections = this.#connections;
    const record = await connections.connection(group);
    const begunAt = this.#epochNow();
    const since = begunAt - (record?.begunAt ?? Number.NEGATIVE_INFINITY);
    if (since >= 0 && since < this.#spacingMs) return false;
    const previous = group === session ? record : await connections.connection(session);
    const short = previous === undefined ? 1 : shortSessions(previous) + 1;
    const start = { begunAt, day: dayOf(begunAt), shortSessions: short };
    if (!(await connections.countSession(group, start, record?.begunAt))) return false;
    return group === session || (await connections.countSession(session, start, previous?.begunAt));
  }
}

/** Unhealthy sessions in a row; each one counts as short until it has received events for long enough. */
function shortSessions({ begunAt, heardAt, shortSessions: count }: ConnectionRecord): number {
  const lived = begunAt === undefined || heardAt === undefined ? 0 : heardAt - begunAt;
  return lived >= SOUND_SESSION_MS ? 0 : count;
}

/** Between 80 and 100 percent of the doubled wait: with less, the cap would allow more than 200 sessions a day. */
function backOff(short: number, firstMs: number): number {
  return backoffMs(short - 1, firstMs, BACKOFF_CAP_MS, () => 0.6 + 0.4 * Math.random());
}

function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
