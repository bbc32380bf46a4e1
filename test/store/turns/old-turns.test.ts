/** What `retention.messagesDays` deletes, in batches, and what it leaves. */
import { expect, it } from 'vitest';
import { OLD_BATCH, purgeOld } from '../../../src/ops/retention.ts';
import { describeStore, silentLog, type TestStore } from '../../database.ts';
import { accepted, finished, LEASE_MS, only } from '../lanes/turns.ts';
import { request } from '../requests.ts';

/** A session last used `idle` days ago, with turns that ended this many days ago. */
async function makeSession(
  { sql }: TestStore,
  key: string,
  { idle, ended, pinned = false }: { idle: number; ended: number[]; pinned?: boolean },
): Promise<void> {
  const days = (ago: number) => sql`now() - ${ago}::float8 * interval '1 day'`;
  await sql`insert into session (key, pinned, message_seq, updated_at) values (${key}, ${pinned}, ${ended.length}, ${days(idle)})`;
  for (const [index, ago] of ended.entries()) {
    const [id, seq] = [`${key}.${index + 1}`, index + 1];
    await sql`
      insert into turn (id, session, address, lane_seq, state, user_seq, ended_at)
      values (${id}, ${key}, ${key}, ${seq}, 'done', ${seq}, ${days(ago)})`;
    await sql`insert into message (session, seq, turn_id, role, content) values (${key}, ${seq}, ${id}, 'user', ${id})`;
    await sql`
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      values (${key}, ${seq}, ${id}, 0, 'user', 0, '{"kind":"user","content":"x"}', 1)`;
    await sql`insert into delivery (ref, parts) values (${id}, '[]')`;
  }
}

describeStore('messages that are too old', (databases) => {
  const purge = ({ retention: old }: TestStore, messagesDays: number | undefined) =>
    purgeOld(old, messagesDays, silentLog);
  const left = async ({ sql }: TestStore): Promise<string[]> => {
    const rows = await sql<{ id: string }[]>`
      select turn_id as id from message union all select turn_id from context union all select ref from delivery
      union all select id from turn`;
    return rows.map(({ id }) => id).toSorted();
  };
  const four = (...ids: string[]): string[] => ids.flatMap((id) => [id, id, id, id]).toSorted();

  it('leave a session alone when a user writes to it just before it is deleted', async () => {
    const store = await databases.open();
    await makeSession(store, 'telegram:4', { idle: 31, ended: [40] });
    await makeSession(store, 'telegram:5', { idle: 31, ended: [40] });
    const found = await store.retention.idleSessions(30, OLD_BATCH);
    expect(found.toSorted()).toEqual(['telegram:4', 'telegram:5']);
    await store.ledger.accept(request('m1', { chatId: '5' }));
    expect(await Promise.all(found.map((key) => store.retention.deleteIdle(key, 30)))).toEqual(
      found.map((key) => key === 'telegram:4'),
    );
    expect(await store.ledger.session('telegram:4')).toBeUndefined();
    expect(await store.ledger.session('telegram:5')).toMatchObject({ messageCount: 2 });
    expect(await store.retention.deleteIdle('telegram:4', 30)).toBe(false);
  });

  it('are deleted by two nodes at once while people write in the same sessions, and nothing newer with them', async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    const chats = Array.from({ length: 8 }, (_, n) => String(n));
    for (const chat of chats)
      await makeSession(store, `telegram:${chat}`, {
        idle: Number(chat) % 2 === 0 ? 31 : 1,
        ended: [40, 35, 33],
      });
    const node = await store.lanes.register('home', LEASE_MS);
    let isWriting = true;
    const purges = [store, beside].map(async (one) => {
      while (isWriting) await purge(one, 30);
      await purge(one, 30);
    });
    const talk = async (chatId: string): Promise<void> => {
      for (let n = 0; n < 6; n += 1) {
        const { turnId, heads } = accepted(await store.ledger.accept(request(`m${n}`, { chatId }, node)));
        await store.ledger.finishTurn(only(heads), finished(turnId, `answer ${n}`));
      }
    };
    await Promise.all(chats.map(talk)).finally(() => (isWriting = false));
    await Promise.all(purges);
    const expected = Array.from({ length: 6 }, (_, n) => [`text of m${n}`, `answer ${n}`]).flat();
    for (const chat of chats) {
      const messages = await store.ledger.messages(`telegram:${chat}`, { limit: 100 });
      expect(messages.map(({ content }) => content)).toEqual(expected);
    }
  });

  it('are deleted only when a number of days is set, with everything in their turns', async () => {
    const store = await databases.open();
    await makeSession(store, 'http:used', { idle: 1, ended: [40, 29, 1] });
    await makeSession(store, 'http:idle', { idle: 31, ended: [40, 31] });
    await makeSession(store, 'http:pinned', { idle: 31, ended: [40], pinned: true });
    const all = await left(store);
    expect(await purge(store, undefined)).toBe(false);
    expect(await left(store)).toEqual(all);
    expect(await purge(store, 30)).toBe(false);
    expect(await left(store)).toEqual(four('http:pinned.1', 'http:used.2', 'http:used.3'));
    expect(await store.ledger.session('http:idle')).toBeUndefined();
    expect(await store.ledger.session('http:used')).toBeDefined();
    const messages = await store.ledger.messages('http:used', { limit: 9 });
    expect(messages.map(({ seq }) => seq)).toEqual([2, 3]);
  });

  it('leave what waits, what has a schedule, and turns with a plan', async () => {
    const store = await databases.open();
    const { sql } = store;
    for (const key of ['http:waits', 'http:scheduled', 'http:planned'])
      await makeSession(store, key, { idle: key === 'http:planned' ? 1 : 50, ended: [40] });
    await sql`insert into lane (key, head, tail) values ('in:http:waits', 1, 2)`;
    await sql`
      insert into schedule (id, session, address, place, creator_id, timing, task, next_at)
      values ('s', 'http:scheduled', 'http:scheduled', 'private', 'u', '{}', 'x', now())`;
    await sql`insert into plan (id, session, turn_id, doc) values ('p', 'http:planned', 'http:planned.1', '{}')`;
    await purge(store, 30);
    for (const key of ['http:waits', 'http:scheduled', 'http:planned'] as const)
      expect(await store.ledger.session(key)).toBeDefined();
    expect(await left(store)).toEqual(four('http:planned.1'));
  });

  it('are deleted with equally old runs of schedules; the schedule and its newer runs stay', async () => {
    const store = await databases.open();
    const { sql } = store;
    await makeSession(store, 'http:tides', { idle: 1, ended: [40, 29] });
    await sql`
      insert into schedule (id, session, address, place, creator_id, timing, task, next_at)
      values ('s', 'http:tides', 'http:tides', 'private', 'u', '{}', 'x', now())`;
    for (const [turn, ago] of [
      ['http:tides.1', 40],
      ['http:tides.2', 29],
    ] as const)
      await sql`
        insert into schedule_run (schedule_id, session, due_at, at, outcome, turn_id)
        values ('s', 'http:tides', now() - ${ago}::float8 * interval '1 day', now() - ${ago}::float8 * interval '1 day', 'begun', ${turn})`;
    const runs = async (): Promise<(string | null)[]> =>
      (await sql<{ turn: string | null }[]>`select turn_id as turn from schedule_run order by at`).map(
        ({ turn }) => turn,
      );
    await purge(store, undefined);
    expect(await runs()).toEqual(['http:tides.1', 'http:tides.2']);
    await purge(store, 30);
    expect(await runs()).toEqual(['http:tides.2']);
    expect(await sql`select from schedule`).toHaveLength(1);
    expect(await left(store)).toEqual(four('http:tides.2'));
  });

  it(`are deleted in batches of ${OLD_BATCH}`, async () => {
    const store = await databases.open();
    await store.sql`
      insert into turn (id, session, address, lane_seq, state, user_seq, ended_at)
      select 't' || n, 'http:many', 'http:many', n, 'done', n, now() - interval '40 days'
      from generate_series(1, ${OLD_BATCH + 1}::int) n`;
    await store.sql`insert into session (key) values ('http:many')`;
    expect(await purge(store, 30)).toBe(true);
    expect(await left(store)).toHaveLength(1);
    expect(await purge(store, 30)).toBe(false);
    expect(await left(store)).toEqual([]);
  });
});
