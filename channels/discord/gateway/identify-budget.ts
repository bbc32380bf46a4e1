/** When a new session may start: Discord resets the token of a bot that starts more than about 1,000 a day. */
import { z } from 'zod';
import type { ConnectionRecord, ConnectionStore } from '../../../src/protocol/receive.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';

/** Sessions of each day that are never used: the owner may need them, and no one knows when Discord's day begins. */
const RESERVED_SESSIONS = 50;
/** A session that lived this long was healthy, and the next one need not wait. */
const SOUND_SESSION_MS = 5 * 60_000;
/** Longest wait after unhealthy sessions, in milliseconds: it allows fewer than 200 a day. */
const BACKOFF_CAP_MS = 600_000;
const DAY_MS = 24 * 3_600_000;

/** `session_start_limit` of `GET /gateway/bot`; `reset_after` is in milliseconds. */
export const SessionStartLimit = z.object({
  total: z.number(),
  remaining: z.number(),
  reset_after: z.number(),
  /** Shards that may start a session at the same time. */
  max_concurrency: z.number().default(1),
});
export type SessionStartLimit = z.infer<typeof SessionStartLimit>;

export interface BudgetParts {
  connections: Pick<ConnectionStore, 'connection' | 'countSession'>;
  epochNow: () => number;
  /** Minimum time between two identifies, in milliseconds, and the wait after the first unhealthy session. */
  spacingMs: number;
}

/** The store records for a session: the record of the connection, and those that count the bot's identifies. */
export interface BudgetKeys {
  session: string;
  /** The one of these that this connection shares with the connections that may not identify at the same time. */
  own: string;
  all: readonly string[];
}

/** Counts sessions in the store, so that the count survives restarts and covers all nodes. Throws only `StoreError`. */
export class IdentifyBudget {
  readonly #parts: BudgetParts;

  constructor(parts: BudgetParts) {
    this.#parts = parts;
  }

  /** Milliseconds until another session may start, given how this connection's last sessions ended. */
  async waitMs(session: string): Promise<number> {
    const { connections, spacingMs } = this.#parts;
    const record = await connections.connection(session);
    if (record === undefined) return 0;
    const short = shortSessions(record);
    return this.#left(record, short === 0 ? spacingMs : Math.max(spacingMs, backOff(short, spacingMs)));
  }

  /** Milliseconds until connections that may not identify at the same time have done so. */
  async spacingMs({ own }: Pick<BudgetKeys, 'own'>): Promise<number> {
    const { connections, spacingMs } = this.#parts;
    const record = await connections.connection(own);
    return record === undefined ? 0 : this.#left(record, spacingMs);
  }

  /** A clock that was set back must not lengthen the wait. */
  #left({ begunAt }: ConnectionRecord, leastMs: number): number {
    return begunAt === undefined
      ? 0
      : Math.min(leastMs, Math.max(0, begunAt + leastMs - this.#parts.epochNow()));
  }

  /** Milliseconds until the day's limit ends; undefined while sessions beyond the reserve are left. */
  async exhaustedMs({ all }: Pick<BudgetKeys, 'all'>, limit: SessionStartLimit): Promise<number | undefined> {
    const { connections, epochNow } = this.#parts;
    const records = await Promise.all(all.map(async (key) => await connections.connection(key)));
    const today = records.filter((record) => record?.day === dayOf(epochNow()));
    const begun = today.reduce((sum, record) => sum + (record?.begunOnDay ?? 0), 0);
    if (limit.remaining < RESERVED_SESSIONS) return Math.max(limit.reset_after, this.#parts.spacingMs);
    return limit.total - begun < RESERVED_SESSIONS ? DAY_MS - (epochNow() % DAY_MS) : undefined;
  }

  /**
   * Counts the session that is about to start; false if another has started in the meantime, here or on another node.
   */
  async count({ session, own }: BudgetKeys): Promise<boolean> {
    const { connections, epochNow, spacingMs } = this.#parts;
    const record = await connections.connection(own);
    const begunAt = epochNow();
    const since = begunAt - (record?.begunAt ?? Number.NEGATIVE_INFINITY);
    if (since >= 0 && since < spacingMs) return false;
    const kept = own === session ? record : await connections.connection(session);
    const short = kept === undefined ? 1 : shortSessions(kept) + 1;
    const begin = { begunAt, day: dayOf(begunAt), shortSessions: short };
    if (!(await connections.countSession(own, begin, record?.begunAt))) return false;
    return own === session || (await connections.countSession(session, begin, kept?.begunAt));
  }
}

/** Unhealthy sessions in a row; each one counts as short until it has received events for long enough. */
function shortSessions({ begunAt, heardAt, shortSessions: counted }: ConnectionRecord): number {
  const lived = begunAt === undefined || heardAt === undefined ? 0 : heardAt - begunAt;
  return lived >= SOUND_SESSION_MS ? 0 : counted;
}

/** Between 80 and 100 percent of the doubled wait: with less, the cap would allow more than 200 sessions a day. */
function backOff(short: number, firstMs: number): number {
  return backoffMs(short - 1, firstMs, BACKOFF_CAP_MS, () => 0.6 + 0.4 * Math.random());
}

function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
