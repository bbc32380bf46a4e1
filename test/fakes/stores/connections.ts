/** The store's `ConnectionStore` in memory, for a channel's tests: what it keeps outlives the channel. */
import type { ConnectionRecord, ConnectionStore, HeardChat } from '../../../src/protocol/receive.ts';

export class MemoryConnections implements ConnectionStore {
  readonly records = new Map<string, ConnectionRecord>();
  /** Chats the gateway already knows. */
  chats: HeardChat[] = [];

  /** The database's clock. */
  clock: () => number = Date.now;

  epochNow(): Promise<number> {
    return Promise.resolve(this.clock());
  }

  connection(key: string): Promise<ConnectionRecord | undefined> {
    return Promise.resolve(structuredClone(this.records.get(key)));
  }

  saveSession: ConnectionStore['saveSession'] = (key, session, heardAt) => {
    const kept = this.#record(key);
    const same = kept.session?.id === session.id ? (kept.session?.sequence ?? 0) : 0;
    this.records.set(key, {
      ...kept,
      session: { ...structuredClone(session), sequence: Math.max(same, session.sequence) },
      heardAt: Math.max(kept.heardAt ?? heardAt, heardAt),
    });
    return Promise.resolve();
  };

  countSession: ConnectionStore['countSession'] = (key, begin, previous) => {
    const kept = this.#record(key);
    if (kept.begunAt !== previous) return Promise.resolve(false);
    const begunOnDay = kept.day === begin.day ? kept.begunOnDay + 1 : 1;
    this.records.set(key, { ...kept, ...begin, begunOnDay });
    return Promise.resolve(true);
  };

  heardChats: ConnectionStore['heardChats'] = (channel, { since, limit }) => {
    const all = this.chats
      .filter(({ address, changedAt }) => address.startsWith(`${channel}:`) && changedAt >= since)
      .toSorted((one, other) => other.changedAt - one.changedAt);
    return Promise.resolve({ chats: all.slice(0, limit), total: all.length });
  };

  #record(key: string): ConnectionRecord {
    return this.records.get(key) ?? { begunOnDay: 0, shortSessions: 0 };
  }
}
