/** The database goes away at the worst moments: each call takes effect once, and reports it. */
import { expect, it, onTestFinished } from 'vitest';
import { StoreError } from '../../../src/protocol/errors.ts';
import { dumpDatabase } from '../../../src/store/database/dump.ts';
import { openDatabase } from '../../../src/store/database/database.ts';
import { beginLoading } from '../../../src/store/database/load.ts';
import { migrateDatabase } from '../../../src/store/database/migrate.ts';
import type { TcpProxy } from '../../fakes/network/tcp-proxy.ts';
import { proxyTo } from './proxied.ts';
import { describeStore, idleFor, type TestDatabases, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, delivery, finished, IN_ROOM, LEASE_MS, only, startTurn } from '../lanes/turns.ts';

/** A store behind a proxy, plus one with undisturbed access to the same tables. */
async function openBehindProxy(
  databases: TestDatabases,
  retryForMs = 20_000,
): Promise<{ calm: TestStore; store: TestStore; proxy: TcpProxy }> {
  const calm = await databases.open();
  const { proxy, url } = await proxyTo(calm.place.url);
  const store = await databases.open({ beside: calm, url, retryForMs });
  return { calm, store, proxy };
}

/** Ends the connections of a command from the server's side. */
async function endConnections({ sql }: TestStore, name: string): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`;
  const open = () => sql`select 1 from pg_stat_activity where application_name = ${name}`;
  await expect.poll(open).toHaveLength(0);
}

/** After this time the server ends what is idle, in milliseconds. */
const IDLE_MS = 40;

describeStore('failures', (databases) => {
  it('does not wait for connections that a firewall has dropped without telling: others take their place', async () => {
    const { store, proxy } = await openBehindProxy(databases);
    const database = openDatabase({ ...store.place, poolSize: 3, answerTimeoutMs: 500 });
    onTestFinished(() => database.close());
    const one = () => database.row((sql) => sql<{ n: number }[]>`select 1 as n`);
    const transaction = () => database.transaction(async (sql) => await sql<{ n: number }[]>`select 2 as n`);
    await Promise.all([one(), transaction(), one()]);
    for (let n = 0; n < 2; n += 1) {
      proxy.forget();
      expect(await Promise.all([one(), transaction(), one(), one()])).toEqual([
        { n: 1 },
        [{ n: 2 }],
        { n: 1 },
        { n: 1 },
      ]);
    }
  });

  it('works on although the server ends what is idle, also at the moment of a statement', async () => {
    const store = await databases.open();
    await idleFor(store, IDLE_MS);
    const database = openDatabase({ ...store.place, poolSize: 2 });
    onTestFinished(() => database.close());
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const one = () => database.row((sql) => sql<{ n: number }[]>`select 1 as n`);
    const two = () =>
      database.transaction(async (sql, attempt) => {
        await sql`select 1`;
        if (attempt === 0) await wait(IDLE_MS * 1.5);
        return await sql<{ n: number }[]>`select 2 as n`;
      });
    expect(await two()).toEqual([{ n: 2 }]);
    for (let n = 0; n < 60; n += 1) {
      const results = await Promise.all([one(), one()]);
      expect(results).toEqual([{ n: 1 }, { n: 1 }]);
      await wait(IDLE_MS - 4 + (n % 8));
    }
  });

  it('reads and loads a backup although the server ends what is idle', async () => {
    const store = await databases.open();
    await idleFor(store, IDLE_MS);
    const wait = () => new Promise((resolve) => setTimeout(resolve, IDLE_MS * 2));
    const records = [];
    for await (const record of dumpDatabase(store.place)) {
      records.push(record);
      if (records.length < 3) await wait();
    }
    const loading = await beginLoading(store.place, { replace: true });
    await wait();
    await loading.finish();
    await loading.close();
    expect(records.length).toBeGreaterThan(3);
  });

  it.each(['begin', 'CREATE TABLE "address"', 'insert into', 'commit', 'pg_advisory_unlock'])(
    'prepares the tables although the connection is lost at %s',
    async (statement) => {
      const { store, calm, proxy } = await openBehindProxy(databases);
      const schema = `${calm.place.schema}_lost`;
      const { held } = proxy.hold(({ sql }) => sql.includes(statement), 'before');
      const migrated = migrateDatabase({ ...store.place, schema });
      await held;
      proxy.cut();
      await migrated;
      const [row] = await calm.sql`select to_regclass(${`"${schema}".address`}) is not null as exists`;
      expect(row).toEqual({ exists: true });
      await calm.sql`drop schema ${calm.sql(schema)} cascade`;
    },
  );

  it('accepts once when the answer to the commit is lost (T1)', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const node = await calm.lanes.register('home', LEASE_MS);
    const lost = proxy.loseAnswerTo('message-1');
    const result = accepted(await store.ledger.accept(request('message-1', {}, node)));
    await lost;
    expect(only(result)).toMatchObject({ node, seq: 1, dedupe: 'message-1' });
    expect(result).toMatchObject({ laneSeq: 1, seq: 1, position: 0 });
    expect(await store.ledger.accept(request('message-1'))).toMatchObject({
      kind: 'duplicate',
      turnId: result.turnId,
    });
    expect(await calm.ledger.messages('telegram:42', { limit: 9 })).toHaveLength(1);
  });

  it('counts the whole outage, with the wait for the database, before it counts a crash of another process', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const here = await calm.lanes.register('here', LEASE_MS);
    const there = await calm.lanes.register('there', LEASE_MS);
    await calm.lanes.append('out:t:there', 'm', {}, there);
    await calm.sql`update node set lease_until = now() - interval '9 seconds'`;
    const { held } = proxy.hold(({ sql }) => sql.includes('set owner = null where owner ='), 'before');
    let outageMs = 5_000;
    const registered = store.lanes.register('here', LEASE_MS, { node: here, ms: () => outageMs });
    await held;
    outageMs = 20_000;
    proxy.cut();
    expect(await store.lanes.sweep(await registered, [{ class: 'out', free: 9 }])).toEqual([]);
    expect(await calm.sql`select crashes from lane_item`).toEqual([{ crashes: 0 }]);
  });

  it('appends once, and keeps the claim it made', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const node = await calm.lanes.register('home', LEASE_MS);
    const lost = proxy.loseAnswerTo('dedupe-1');
    const appended = await store.lanes.append('out:a:1', 'dedupe-1', {}, node);
    await lost;
    expect(only(appended)).toMatchObject({ seq: 1, node });
    expect(only(await calm.lanes.append('out:a:2', 'dedupe-1', {}, node)).seq).toBe(1);
  });

  it('claims once in a sweep when the answer is lost', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const node = await calm.lanes.register('home', LEASE_MS);
    for (const key of ['in:a:1', 'in:a:2', 'in:a:3'] as const) await calm.lanes.append(key, 'm', {});
    const lost = proxy.loseAnswerTo(node);
    const heads = await store.lanes.sweep(node, [{ class: 'in', free: 2 }]);
    await lost;
    expect(heads).toHaveLength(2);
    expect(await calm.lanes.sweep(node, IN_ROOM)).toHaveLength(1);
  });

  it('writes each journal row once (T2-T5)', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const { turnId, head } = await startTurn(calm);
    const lost = proxy.loseAnswerTo('first answer');
    await store.ledger.journalAnswer(head, turnId, [answer(1, 'first answer')]);
    await lost;
    const lostToo = proxy.loseAnswerTo('placeholder-1');
    await store.ledger.noteSent(head, turnId, [{ id: 'placeholder-1' }]);
    await lostToo;
    const opened = await calm.ledger.openTurn(head, turnId, 9);
    expect(opened).toMatchObject({
      journal: [{ entry: { content: 'first answer' } }],
      placeholders: [{ id: 'placeholder-1' }],
    });
    expect(opened.journal).toHaveLength(1);
  });

  it('ends a turn once and returns what that commit claimed (T6 T7)', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const { node, turnId, head } = await startTurn(calm);
    await calm.ledger.accept(request('m2'));
    const outbound = delivery(turnId, 'telegram:42', 'the answer');
    const lost = proxy.loseAnswerTo('the answer');
    const { heads } = await store.ledger.finishTurn(head, finished(turnId, 'the answer', { outbound }));
    await lost;
    expect(heads.map((claimed) => claimed.lane).toSorted()).toEqual(['in:telegram:42', 'out:telegram:42']);
    expect(await calm.ledger.messages('telegram:42', { limit: 9 })).toHaveLength(3);
    const out = heads.find((claimed) => claimed.lane === 'out:telegram:42')!;
    const lostToo = proxy.loseAnswerTo('sent-1');
    expect(await store.ledger.finishDelivery(out, turnId, [{ id: 'sent-1' }])).toEqual({ heads: [] });
    await lostToo;
    expect(await calm.lanes.sweep(node, [{ class: 'out', free: 9 }])).toEqual([]);
  });

  it('releases, parks, decides and stops once', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const { node, turnId, head } = await startTurn(calm);
    const lose = async <T>(pattern: string, call: () => Promise<T>): Promise<T> => {
      const lost = proxy.loseAnswerTo(pattern);
      const result = await call();
      await lost;
      return result;
    };
    await lose('why-1', () => store.lanes.release(head, { delayMs: 0, attempt: true, error: 'why-1' }));
    const again = only(await calm.lanes.sweep(node, IN_ROOM));
    expect(again.attempts).toBe(1);
    const approval = { id: 'approval-1', turnId, detail: {}, expiresInMs: 60_000 };
    await lose('approval-1', () => store.lanes.park(again, approval));
    expect(await lose('person-1', () => store.lanes.decide('approval-1', 'approved', 'person-1'))).toBe(true);
    const woken = only(await calm.lanes.sweep(node, IN_ROOM));
    await calm.ledger.openTurn(woken, turnId, 1);
    expect((await lose('commit', () => store.lanes.stop('telegram:42', { fresh: true }))).stopped).toBe(true);
    expect(await calm.lanes.flags(node)).toHaveLength(1);
  });

  it('turns a pairing code into a grant once', async () => {
    const { calm, store, proxy } = await openBehindProxy(databases);
    const code = { channel: 'telegram', senderId: '7', codeHash: 'hash-1', ttlMs: 60_000, maxPending: 3 };
    const lost = proxy.loseAnswerTo('commit');
    expect(await store.access.openPairing(code)).toBe(true);
    await lost;
    const lostToo = proxy.loseAnswerTo('hash-1');
    expect(await store.access.approvePairing('hash-1')).toMatchObject({ senderId: '7' });
    await lostToo;
    expect(await calm.access.grants()).toHaveLength(1);
    expect(await calm.access.approvePairing('hash-1')).toBeUndefined();
  });

  it('loses and repeats nothing while its connections are cut repeatedly', async () => {
    const { calm, store } = await openBehindProxy(databases);
    const node = await calm.lanes.register('home', LEASE_MS);
    const chats = Array.from({ length: 6 }, (_, i) => `chat${i}`);
    let done = 0;
    const talk = async (chatId: string): Promise<void> => {
      for (let i = 0; i < 12; i += 1) {
        const { turnId, heads } = accepted(await store.ledger.accept(request(`m${i}`, { chatId }, node)));
        const step = await store.ledger.finishTurn(only(heads), finished(turnId, `answer ${i}`));
        expect(step.heads).toEqual([]);
        done += 1;
        if (done % 9 === 0) await disturb();
      }
    };
    const disturb = async (): Promise<void> => {
      await calm.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = ${calm.place.applicationName} and pid <> pg_backend_pid()`;
    };
    await Promise.all(chats.map(talk));
    for (const chatId of chats) {
      const messages = await calm.ledger.messages(`telegram:${chatId}`, { limit: 100 });
      const expected = Array.from({ length: 12 }, (_, i) => [`text of m${i}`, `answer ${i}`]).flat();
      expect(messages.map((message) => message.content)).toEqual(expected);
    }
  });

  it('leaves the database as it was when the connection of a restore is lost between two of its statements', async () => {
    const { calm, store } = await openBehindProxy(databases);
    await calm.ledger.accept(request('m1'));
    const rows = () => calm.sql`select name, value from choice order by name`;
    await calm.sql`insert into choice (name, value) values ('kept', 'before')`;
    const loading = await beginLoading(store.place, { replace: true });
    try {
      loading.table('choice', ['name', 'value']);
      await loading.rows([['first', 'restored']]);
      await endConnections(calm, 'parley restore');
      // The next statement would run in no transaction.
      await expect(loading.rows([['second', 'restored']])).rejects.toMatchObject({ code: 'unavailable' });
      await expect(loading.finish()).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      await loading.close();
    }
    expect([...(await rows())]).toEqual([{ name: 'kept', value: 'before' }]);
    expect(await calm.ledger.messages('telegram:42', { limit: 9 })).toHaveLength(1);
  });

  it('ends a backup when its connection is lost between two of its statements, for the rest would be of another moment', async () => {
    const { calm, store } = await openBehindProxy(databases);
    await calm.sql`insert into choice (name, value) values ('kept', 'before')`;
    const records = dumpDatabase(store.place);
    expect(await records.next()).toMatchObject({ value: { type: 'table' } });
    await endConnections(calm, 'parley backup');
    const rest = async (): Promise<void> => {
      for await (const record of records) expect(record.type).not.toBe('end');
    };
    // The words depend on whether a statement was under way just then.
    await expect(rest()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('waits for an unreachable database, and gives up with a clear error', async () => {
    const { store, proxy } = await openBehindProxy(databases, 1_500);
    await store.ledger.accept(request('m1'));
    proxy.refuse();
    const waiting = store.ledger.accept(request('m2'));
    setTimeout(() => proxy.restore(), 200);
    expect(accepted(await waiting).laneSeq).toBe(2);
    proxy.refuse();
    const error = await store.ledger.accept(request('m3')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: 'unavailable', retryable: true });
    expect(String(error)).toMatch(/DATABASE_URL/);
  });
});
