/** Session forks in the store: what is copied, what the model reads of it, and that either can be deleted alone. */
import { expect, it } from 'vitest';
import { MAX_FORKED_TURNS } from '../../../src/protocol/sessions/conversation-api.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, LEASE_MS, only, said } from '../lanes/turns.ts';

const source = 'telegram:42' as const;

/** Turns of `source`: `turn(3)` sends `text of m3` and gets `a3`. */
async function openSession(store: TestStore) {
  const { ledger, lanes } = store;
  const node = await lanes.register('home', LEASE_MS);
  const open = async (n: number) => {
    const result = accepted(await ledger.accept(request(`m${n}`, {}, node)));
    return { turnId: result.turnId, head: result.heads[0] };
  };
  return {
    open,
    async turn(n: number): Promise<string> {
      const { turnId, head } = await open(n);
      const entries = [said(`q${n}`), answer(1, `a${n}`)];
      if (head !== undefined) await ledger.finishTurn(head, finished(turnId, `a${n}`, { entries }));
      return turnId;
    },
  };
}

/** Forks `source` at a message. */
async function forkAt(store: TestStore, seq: number, id = 'copy', before = false) {
  return await store.forks.fork({
    source,
    seq,
    before,
    key: `http:${id}`,
    folder: `folder-of-${id}`,
    ownerTokenId: 'tok',
    userId: 'token:tok',
    title: undefined,
  });
}

/** What the next turn of a session reads. */
async function nextReads(store: TestStore, key: SessionKey): Promise<string[]> {
  const [channel = '', chatId = ''] = key.split(':');
  const node = await store.lanes.register(`reader of ${key}`, LEASE_MS);
  const result = accepted(await store.ledger.accept(request(`next of ${key}`, { channel, chatId }, node)));
  const { history } = await store.ledger.openTurn(only(result), result.turnId, 50);
  return history.map(({ entry }) => ('content' in entry ? entry.content : entry.kind));
}

const shown = async (store: TestStore, key: SessionKey): Promise<string[]> =>
  (await store.ledger.messages(key, { limit: 200 })).map(({ seq, content }) => `${seq} ${content}`);

describeStore('a fork', (databases) => {
  it('has the messages and the memory of its source up to a message, and continues independently', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    for (const n of [1, 2, 3]) await session.turn(n);
    await store.ledger.updateSession(source, { profileId: 'cook', model: 'tiny', mode: 'agentic' });
    const fork = await forkAt(store, 4);
    expect(fork).toMatchObject({ messages: 4, leftBehind: 0 });
    expect(fork?.session).toMatchObject({
      key: 'http:copy',
      ownerTokenId: 'tok',
      profileId: 'cook',
      model: 'tiny',
      mode: 'agentic',
      messageCount: 4,
      folder: 'folder-of-copy',
    });
    expect(await shown(store, 'http:copy')).toEqual(['1 text of m1', '2 a1', '3 text of m2', '4 a2']);
    expect(await nextReads(store, 'http:copy')).toEqual(['q1', 'a1', 'q2', 'a2']);
    expect(await nextReads(store, source)).toEqual(['q1', 'a1', 'q2', 'a2', 'q3', 'a3']);
  });

  it('copies whole turns: no question without its answer, and nothing of a running turn', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    await session.turn(1);
    const running = await session.open(2);
    expect(await forkAt(store, 3, 'all')).toMatchObject({ messages: 2 });
    await session.open(3);
    if (running.head !== undefined) {
      const entries = [said('q2'), answer(1, 'a2')];
      await store.ledger.finishTurn(running.head, finished(running.turnId, 'a2', { entries }));
    }
    // The third message was queued before the second answer arrived.
    expect((await shown(store, source)).at(-1)).toBe('5 a2');
    expect(await forkAt(store, 4, 'before')).toMatchObject({ messages: 2 });
    expect(await forkAt(store, 5, 'after')).toMatchObject({ messages: 4 });
    expect(await shown(store, 'http:after')).toEqual(['1 text of m1', '2 a1', '3 text of m2', '4 a2']);
    expect(await forkAt(store, 3, 'edited', true)).toMatchObject({ messages: 2 });
    expect(await forkAt(store, 0, 'empty')).toMatchObject({ messages: 0 });
    expect(await nextReads(store, 'http:empty')).toEqual([]);
    expect(await forkAt(store, 6, 'beyond')).toBeUndefined();
  });

  it('reads the summary from before its message, and the rows that a later summary covers', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const cover = async (count: number, content: string): Promise<void> => {
      const rows = (await store.contexts.unsummarized(source, 400)).slice(0, count);
      const range = { from: rows[0]?.laneSeq ?? 0, upTo: rows.at(-1)?.laneSeq ?? 0 };
      const summary = { kind: 'summary' as const, content };
      await store.contexts.summarize(source, {
        ...range,
        rows: rows.map(({ seq }) => seq),
        summary,
        tokens: 5,
      });
    };
    for (const n of [1, 2]) await session.turn(n);
    await cover(2, 'sum 1');
    await session.turn(3);
    await cover(5, 'sum 1-3');
    await session.turn(4);
    await forkAt(store, 4, 'old');
    expect(await nextReads(store, 'http:old')).toEqual(['sum 1', 'q2', 'a2']);
    await forkAt(store, 8, 'new');
    expect(await nextReads(store, 'http:new')).toEqual(['sum 1-3', 'q4', 'a4']);
  });

  it('remembers what preceded a later /new, with the sources of what it read', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const { turnId, head } = await session.open(1);
    const read = {
      ...answer(1, 'a1'),
      entry: { ...answer(1, 'a1').entry, sources: ['web:evil.example'] as const },
    };
    if (head !== undefined)
      await store.ledger.finishTurn(head, finished(turnId, 'a1', { entries: [said('q1'), read] }));
    await store.lanes.stop(source, { fresh: true });
    await session.turn(2);
    const fork = await forkAt(store, 2);
    expect(fork?.session.sources).toEqual(['web:evil.example']);
    expect(await nextReads(store, 'http:copy')).toEqual(['q1', 'a1']);
    await forkAt(store, 4, 'later');
    expect(await nextReads(store, 'http:later')).toEqual(['q2', 'a2']);
  });

  it('shows where /new began a new conversation, unless it remembers what was before', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    await session.turn(1);
    await store.lanes.stop(source, { fresh: true });
    await session.turn(2);
    await store.lanes.stop(source, { fresh: true });
    await session.turn(3);
    const places = async (key: SessionKey) =>
      (await store.contexts.resets(key, { from: 1 })).map(({ after }) => after);
    await forkAt(store, 6, 'whole');
    expect(await places('http:whole')).toEqual([2, 4]);
    await forkAt(store, 4, 'remembers');
    expect(await nextReads(store, 'http:remembers')).toEqual(['q1', 'a1', 'q2', 'a2']);
    expect(await places('http:remembers')).toEqual([]);
  });

  it('points its pictures at its own folder, and outlives its source', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const { turnId, head } = await session.open(1);
    const row = {
      ...said('look'),
      entry: { kind: 'user' as const, content: 'look', pictures: ['old/a.jpg'] },
    };
    if (head !== undefined)
      await store.ledger.finishTurn(head, finished(turnId, 'a1', { entries: [row, answer(1, 'a1')] }));
    await forkAt(store, 2);
    const [copied] = await store.sql`
      select payload -> 'pictures' as pictures from context where session = 'http:copy' and kind = 'user'`;
    expect(copied).toEqual({ pictures: ['folder-of-copy/a.jpg'] });
    expect(await store.ledger.deleteSession(source)).toBe(true);
    expect(await shown(store, 'http:copy')).toEqual(['1 text of m1', '2 a1']);
    expect(await store.ledger.deleteSession('http:copy')).toBe(true);
    const left =
      await store.sql`select 1 from context union all select 1 from turn union all select 1 from message`;
    expect(left).toHaveLength(0);
  });

  it(`has the newest ${MAX_FORKED_TURNS} turns of a longer session, and says how many are left behind`, async () => {
    const store = await databases.open();
    const session = await openSession(store);
    await session.turn(1);
    const many = MAX_FORKED_TURNS + 2;
    await store.sql`
      insert into turn (id, session, address, lane_seq, state, user_seq, final_seq)
      select 't' || n, ${source}, ${source}, n, 'done', n + 1, null from generate_series(2, ${many}) n`;
    await store.sql`
      insert into message (session, seq, turn_id, role, content)
      select ${source}, n + 1, 't' || n, 'user', 'm' || n from generate_series(2, ${many}) n`;
    await store.sql`update session set message_seq = ${many + 1} where key = ${source}`;
    await store.sql`update lane set head = ${many}, tail = ${many} where key = ${`in:${source}`}`;
    expect(await forkAt(store, many + 1)).toMatchObject({ messages: MAX_FORKED_TURNS, leftBehind: 2 });
    expect(await forkAt(store, many + 1)).toMatchObject({ messages: MAX_FORKED_TURNS, leftBehind: 2 });
    expect(await forkAt(store, many - 1, 'whole')).toMatchObject({ leftBehind: 0 });
  });
});
