/** Summaries over old context rows: what they cover, what they leave, and what happens around them in the meantime. */
import { expect, it, onTestFinished } from 'vitest';
import type { ContextRecord } from '../../../src/protocol/store/records.ts';
import { createContexts } from '../../../src/store/lanes/contexts.ts';
import { type Database, openDatabase } from '../../../src/store/database/database.ts';
import { openTurn } from '../../../src/store/turns/open-turn.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, LEASE_MS, only, said } from './turns.ts';

const key = 'telegram:42' as const;

/** A node, and turns of one session on it: `turn(3)` asks `q3` and gets `a3`. */
async function openSession(store: TestStore) {
  const { ledger, lanes } = store;
  const node = await lanes.register('home', LEASE_MS);
  const open = async (n: number) => {
    const result = accepted(await ledger.accept(request(`m${n}`, {}, node)));
    return { turnId: result.turnId, head: only(result) };
  };
  return {
    node,
    open,
    async turn(n: number): Promise<void> {
      const { turnId, head } = await open(n);
      const entries = [said(`q${n}`), answer(1, `a${n}`)];
      await ledger.finishTurn(head, finished(turnId, `a${n}`, { entries }));
    },
    /** What the next turn reads. */
    async history(n: number): Promise<string[]> {
      const { turnId, head } = await open(n);
      const { history } = await ledger.openTurn(head, turnId, 50);
      await ledger.finishTurn(head, finished(turnId, '', { entries: [] }));
      return textsOf(history);
    },
  };
}

const textsOf = (rows: readonly ContextRecord[]): string[] =>
  rows.map(({ entry }) => ('content' in entry ? entry.content : entry.kind));

/** Covers the first `count` uncovered rows. */
async function coverFirst({ contexts }: TestStore, count: number, content: string): Promise<boolean> {
  const rows = (await contexts.unsummarized(key, 400)).slice(0, count);
  return await contexts.summarize(key, {
    from: rows[0]?.laneSeq ?? 0,
    upTo: rows.at(-1)?.laneSeq ?? 0,
    rows: rows.map(({ seq }) => seq),
    summary: { kind: 'summary', content },
    tokens: 5,
  });
}

describeStore('covered context', (databases) => {
  it('replaces the oldest turns with a summary, and keeps them in the tables', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    for (const n of [1, 2, 3]) await session.turn(n);
    expect(textsOf(await store.contexts.unsummarized(key, 400))).toEqual([
      'q1',
      'a1',
      'q2',
      'a2',
      'q3',
      'a3',
    ]);
    expect(await coverFirst(store, 4, 'sum 1-2')).toBe(true);
    expect(await session.history(4)).toEqual(['sum 1-2', 'q3', 'a3']);
    await session.turn(5);
    expect(await coverFirst(store, 3, 'sum 1-3')).toBe(true);
    expect(await session.history(6)).toEqual(['sum 1-3', 'q5', 'a5']);
    const rows = await store.sql`
      select payload ->> 'content' as text, summarized_by is not null as covered from context order by lane_seq, seq`;
    expect(rows.filter(({ covered }) => covered).map(({ text }) => text)).toEqual([
      'q1',
      'a1',
      'q2',
      'a2',
      'sum 1-2',
      'q3',
      'a3',
    ]);
    expect((await store.ledger.messages(key, { limit: 50 })).map(({ content }) => content)).toContain('a1');
  });

  it('reads the summary behind 50 newer rows, and nothing older than the summary (B-35)', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    for (let n = 1; n <= 4; n += 1) await session.turn(n);
    // The summary covers only the newest rows, as after a turn with very many of them.
    const rows = (await store.contexts.unsummarized(key, 4)).slice(0, 2);
    expect(textsOf(rows)).toEqual(['q3', 'a3']);
    await store.contexts.summarize(key, {
      from: 3,
      upTo: 3,
      rows: rows.map(({ seq }) => seq),
      summary: { kind: 'summary', content: 'sum' },
      tokens: 5,
    });
    expect(await session.history(5)).toEqual(['sum', 'q4', 'a4']);
    for (let n = 6; n <= 36; n += 1) await session.turn(n);
    const history = await session.history(40);
    expect(history).toHaveLength(51);
    expect([history[0], history[1], history.at(-1)]).toEqual(['sum', 'q12', 'a36']);
  });

  it('summarizes nothing twice, and nothing of a running turn', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    for (const n of [1, 2]) await session.turn(n);
    const { turnId, head } = await session.open(3);
    await store.ledger.journalAnswer(head, turnId, [said('q3'), answer(1, 'a3')]);
    const rows = await store.contexts.unsummarized(key, 400);
    expect(textsOf(rows)).toEqual(['q1', 'a1', 'q2', 'a2']);
    const running = await store.sql<{ seq: string }[]>`select seq from context where turn_id = ${turnId}`;
    const cover = (upTo: number, seqs: number[], content: string) =>
      store.contexts.summarize(key, {
        from: 1,
        upTo,
        rows: seqs,
        summary: { kind: 'summary', content },
        tokens: 5,
      });
    expect(
      await cover(
        3,
        running.map(({ seq }) => Number(seq)),
        'of a running turn',
      ),
    ).toBe(false);
    const seqs = rows.map(({ seq }) => seq);
    const raced = await Promise.all([cover(2, seqs, 'first'), cover(2, seqs, 'second')]);
    expect(raced.filter((done) => done)).toEqual([true]);
    expect(await cover(1, seqs.slice(0, 2), 'late')).toBe(false);
    const [{ count = 0 } = {}] =
      await store.sql`select count(*)::int as count from context where kind = 'summary'`;
    expect(count).toBe(1);
    // The turn that was running continues and ends as if nothing had happened.
    await store.ledger.finishTurn(head, finished(turnId, 'a3'));
    expect((await session.history(4)).slice(1)).toEqual(['q3', 'a3']);
  });

  it('recognizes its own commit when the answer was lost', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    await session.turn(1);
    const [first] = await store.contexts.unsummarized(key, 400);
    const cover = {
      from: 1,
      upTo: 1,
      rows: [first?.seq ?? 0],
      summary: { kind: 'summary' as const, content: 'sum' },
      tokens: 5,
    };
    expect(await store.contexts.summarize(key, cover)).toBe(true);
    expect(await store.contexts.summarize(key, cover)).toBe(true);
  });

  it('is dropped by /new and by deletion, even while it is being created', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    for (const n of [1, 2]) await session.turn(n);
    await coverFirst(store, 2, 'sum 1');
    await store.lanes.stop(key, { fresh: true });
    expect(await store.contexts.unsummarized(key, 400)).toEqual([]);
    expect(await session.history(3)).toEqual([]);
    for (const n of [4, 5]) await session.turn(n);
    const rows = await store.contexts.unsummarized(key, 400);
    expect(textsOf(rows)).toEqual(['q4', 'a4', 'q5', 'a5']);
    expect(await store.ledger.deleteSession(key)).toBe(true);
    expect(
      await store.contexts.summarize(key, {
        from: rows[0]?.laneSeq ?? 0,
        upTo: rows[1]?.laneSeq ?? 0,
        rows: rows.slice(0, 2).map(({ seq }) => seq),
        summary: { kind: 'summary', content: 'of a deleted session' },
        tokens: 5,
      }),
    ).toBe(false);
    expect([...(await store.sql`select * from context`)]).toEqual([]);
  });

  it('costs the same in a session of 10,000 turns: few rows are read', async () => {
    const store = await databases.open();
    const { sql } = store;
    const session = await openSession(store);
    await session.turn(1);
    await sql`
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select ${key}, n, 'old' || n, 0, 'user', 0, '{"kind": "user", "content": "old"}'::jsonb, 5
      from generate_series(2, 10000) n`;
    await sql`update lane set head = 10000, tail = 10000 where key = ${`in:${key}`}`;
    await sql`analyze context`;
    const { turnId, head } = await session.open(10_001);
    // One connection, which reports how many rows its statements read.
    const database = openDatabase({ ...store.place, poolSize: 1 });
    onTestFinished(() => database.close());
    const contexts = createContexts(database);
    const lookedAt = async (work: () => Promise<unknown>): Promise<number> => {
      const before = await rowsRead(database, store.place.schema);
      await work();
      return (await rowsRead(database, store.place.schema)) - before;
    };
    const openAt = () => openTurn(database, head, turnId, 50, 'telegram:42');
    expect((await openAt()).history).toHaveLength(50);
    expect(await lookedAt(openAt)).toBeLessThan(200);
    expect(await lookedAt(() => contexts.unsummarized(key, 400))).toBeLessThan(1_000);
    const rows = await contexts.unsummarized(key, 400);
    expect(rows).toHaveLength(400);
    const covered = { from: 9_601, upTo: 9_990, rows: rows.slice(0, 390).map(({ seq }) => seq), tokens: 5 };
    const summary = { kind: 'summary' as const, content: 'sum' };
    expect(await lookedAt(() => contexts.summarize(key, { ...covered, summary }))).toBeLessThan(2_000);
    expect(textsOf((await openAt()).history)).toEqual(['sum', ...Array.from({ length: 10 }, () => 'old')]);
    expect(await lookedAt(openAt)).toBeLessThan(200);
  });
});

/** Rows of `context` that the statements of this connection have read so far. */
async function rowsRead(database: Database, schema: string): Promise<number> {
  return await database.run(async (sql) => {
    await sql`select pg_stat_force_next_flush()`;
    await sql`select pg_stat_clear_snapshot()`;
    const [row] = await sql<{ read: string }[]>`
      select idx_tup_fetch + seq_tup_read as read from pg_stat_user_tables
      where relname = 'context' and schemaname = ${schema}`;
    return Number(row?.read);
  });
}
