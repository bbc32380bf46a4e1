/** What is stored of a channel's connection: sessions that never move back, and a count of new ones. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';
import type { ConnectionRecord } from '../../../src/protocol/receive.ts';

const KEY = 'discord:42';
const NONE: Partial<ConnectionRecord> = { begunOnDay: 0, shortSessions: 0 };
const session = (sequence: number, id = 'one') => ({ id, sequence, detail: { url: 'wss://resume' } });

describeStore('connections', (databases) => {
  it('keeps a session with its position, which never moves back', async () => {
    const { connections } = await databases.open();
    expect(await connections.connection(KEY)).toBeUndefined();
    await connections.saveSession(KEY, session(7), 2_000);
    await connections.saveSession(KEY, session(3), 1_000);
    expect(await connections.connection(KEY)).toMatchObject({ ...NONE, session: session(7), heardAt: 2_000 });
    await connections.saveSession(KEY, session(1, 'two'), 3_000);
    expect(await connections.connection(KEY)).toMatchObject({ session: session(1, 'two'), heardAt: 3_000 });
  });

  it('has no position in the future, and replaces one that was written before the clock was set back', async () => {
    const { connections } = await databases.open();
    const now = await connections.epochNow();
    expect(Math.abs(now - Date.now())).toBeLessThan(60_000);
    await connections.saveSession(KEY, session(7), now + 7_200_000);
    expect(await connections.connection(KEY)).toMatchObject({ session: session(7), heardAt: undefined });
    await connections.saveSession(KEY, session(8), now - 1_000);
    expect(await connections.connection(KEY)).toMatchObject({ heardAt: Math.floor(now) - 1_000 });
  });

  it('counts the sessions of a day, and only one when two nodes start one at the same time', async () => {
    const { connections } = await databases.open();
    const begin = (begunAt: number, day: string) => ({ begunAt, day, shortSessions: 1 });
    const raced = await Promise.all(
      [1_000, 1_001].map((at) => connections.countSession(KEY, begin(at, '2026-01-01'), undefined)),
    );
    expect(raced.filter(Boolean)).toHaveLength(1);
    const { begunAt } = (await connections.connection(KEY)) ?? {};
    expect(await connections.countSession(KEY, begin(2_000, '2026-01-01'), begunAt)).toBe(true);
    expect(await connections.connection(KEY)).toMatchObject({
      day: '2026-01-01',
      begunOnDay: 2,
      begunAt: 2_000,
      shortSessions: 1,
    });
    expect(await connections.countSession(KEY, begin(3_000, '2026-01-02'), 2_000)).toBe(true);
    expect(await connections.connection(KEY)).toMatchObject({ day: '2026-01-02', begunOnDay: 1 });
    await connections.saveSession(KEY, session(1), 5_000);
    expect(await connections.connection(KEY)).toMatchObject({ begunOnDay: 1, begunAt: 3_000 });
  });

  it("lists a channel's chats whatever their session is named, newest first, and how many there are", async () => {
    const { connections, ledger, sql } = await databases.open();
    for (const key of ['discord:1', 'discord:2:9', 'telegram:3', 'http:page', 'discord:old'] as const)
      await ledger.updateSession(key, { mode: 'planner' }, {});
    await sql`insert into address (key, session) values ('discord:4', 'telegram:3')`;
    await sql`update session set updated_at = now() - interval '40 days' where key = 'discord:old'`;
    await sql`update session set updated_at = now() - interval '1 day' where key = 'discord:1'`;
    const since = Date.now() - 30 * 86_400_000;
    const { chats, total } = await connections.heardChats('discord', { since, limit: 10 });
    expect(chats.map(({ address }) => address).toSorted()).toEqual(['discord:1', 'discord:2:9', 'discord:4']);
    expect(chats.at(-1)?.address).toBe('discord:1');
    expect(chats.at(-1)?.changedAt).toBeCloseTo(Date.now() - 86_400_000, -5);
    expect(total).toBe(3);
    const bounded = await connections.heardChats('discord', { since, limit: 1 });
    expect(bounded).toMatchObject({ total: 3 });
    expect(bounded.chats).toHaveLength(1);
    expect(await connections.heardChats('matrix', { since, limit: 1 })).toEqual({ chats: [], total: 0 });
  });
});
