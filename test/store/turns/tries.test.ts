/** Questions asked again in the store: what starts the new turn, what is left out, and every reason for refusal. */
import { expect, it } from 'vitest';
import { MAX_TRIES } from '../../../src/protocol/store/records.ts';
import type { AcceptRequest } from '../../../src/protocol/store/accept.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, IN_ROOM, LEASE_MS, only, said } from '../lanes/turns.ts';

const key = 'telegram:42' as const;

async function openSession(store: TestStore) {
  const node = await store.lanes.register('home', LEASE_MS);
  const finish = async (asked: AcceptRequest, n: string): Promise<string> => {
    const result = accepted(await store.ledger.accept({ ...asked, node }));
    const head = only(result);
    const { journal } = await store.ledger.openTurn(head, result.turnId, 50);
    const entries = [...(journal.length === 0 ? [said(`q${n}`)] : []), answer(1, `a${n}`)];
    await store.ledger.finishTurn(head, finished(result.turnId, `a${n}`, { entries }));
    return result.turnId;
  };
  return {
    node,
    turn: (n: string): Promise<string> => finish(request(`m${n}`), n),
    retry: (turnId: string, n: string): Promise<string> =>
      finish({ ...request(`r${n}`), retryOf: turnId }, n),
  };
}

const why = async (store: TestStore, turnId: string, change: Parameters<typeof request>[1] = {}) =>
  await store.ledger.accept({ ...request(`again ${Math.random()}`, change), retryOf: turnId });

/** Undoes the newest question; why not, if it cannot be undone. */
async function undoNewest(store: TestStore) {
  const turn = await store.undo.undoable(key);
  if (typeof turn === 'string') return turn;
  const refusal = await store.undo.begin(key, turn.turnId, new Map());
  await store.undo.finished(key);
  return refusal;
}

/** What the next turn reads. */
async function reads(store: TestStore, node: string): Promise<string[]> {
  const result = accepted(await store.ledger.accept(request(`look ${Math.random()}`, {}, node)));
  const head = only(result);
  const { history } = await store.ledger.openTurn(head, result.turnId, 50);
  await store.ledger.finishTurn(head, finished(result.turnId, ''));
  return history.map(({ entry }) => ('content' in entry ? entry.content : entry.kind));
}

describeStore('a question that is asked again', (databases) => {
  it('starts with its message, is claimed again after its node dies, and is accepted once', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const first = await session.turn('1');
    const again: AcceptRequest = { ...request('r1'), retryOf: first };
    const result = accepted(await store.ledger.accept(again));
    expect(await store.ledger.accept(again)).toMatchObject({ kind: 'duplicate', turnId: result.turnId });
    const heir = await store.lanes.register('another home', LEASE_MS);
    const head = only(await store.lanes.sweep(heir, IN_ROOM));
    const opened = await store.ledger.openTurn(head, result.turnId, 50);
    expect(opened.journal.map(({ entry }) => entry)).toEqual([{ kind: 'user', content: 'q1' }]);
    expect(opened.history).toEqual([]);
    await store.lanes.unregister(heir);
    const third = await store.lanes.register('a third home', LEASE_MS);
    const taken = only(await store.lanes.sweep(third, IN_ROOM));
    const entries = [answer(1, 'a2')];
    await store.ledger.finishTurn(taken, finished(result.turnId, 'a2', { entries }));
    const messages = await store.ledger.messages(key, { limit: 9 });
    expect(messages.map(({ content, leftOut, tries }) => [content, leftOut, tries?.nth])).toEqual([
      ['text of m1', undefined, undefined],
      ['a1', true, 1],
      ['a2', undefined, 2],
    ]);
  });

  it('has the messages that joined it, which stay until every answer is retracted', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const begun = accepted(await store.ledger.accept(request('m1', {}, session.node)));
    const head = only(begun);
    const late = accepted(await store.ledger.accept(request('m2')));
    const joining = { iteration: 2, entry: { kind: 'user' as const, content: 'q2', laneSeq: 2 }, tokens: 1 };
    await store.ledger.joinTurn(head, begun.turnId, {
      rows: [said('q1'), joining],
      joined: [{ seq: 2, turnId: late.turnId }],
    });
    await store.ledger.finishTurn(head, finished(begun.turnId, 'a1', { entries: [answer(1, 'a1')] }));
    expect(await store.tries.lastQuestion(key)).toEqual({ turnId: begun.turnId, content: 'text of m1' });
    await session.retry(begun.turnId, '3');
    expect(await reads(store, session.node)).toEqual(['q1', 'q2', 'a3']);
    const read = async (): Promise<string[]> =>
      (await store.ledger.messages(key, { limit: 9 }))
        .filter(({ leftOut }) => leftOut !== true)
        .map(({ content }) => content);
    expect(await read()).toEqual(['text of m1', 'text of m2', 'a3', expect.stringContaining('look')]);
    await undoNewest(store);
    await undoNewest(store);
    expect(await read()).toEqual([]);
    await store.tries.choose(key, begun.turnId);
    expect(await read()).toEqual(['text of m1', 'text of m2', 'a1']);
  });

  it('is refused for anyone who did not ask it, and when it is gone, ran a plan or is in a summary', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const first = await session.turn('1');
    expect(await why(store, first, { senderId: '8' })).toEqual({ kind: 'not_retried', reason: 'foreign' });
    expect(await why(store, first, { chatId: '43' })).toEqual({ kind: 'not_retried', reason: 'foreign' });
    expect(await why(store, 'no-such-turn')).toEqual({ kind: 'not_retried', reason: 'nothing' });
    await store.sql`
      update lane_item set payload = payload || '{"plan": {"id": "p", "version": 1, "run": 1}}' where dedupe = 'm1'`;
    expect(await why(store, first)).toEqual({ kind: 'not_retried', reason: 'ran_a_plan' });
    const tools = [{ name: 'theirs', description: '', parameters: {} }];
    await store.sql`
      update lane_item set payload = payload - 'plan' || jsonb_build_object('options', jsonb_build_object('tools', ${JSON.stringify(tools)}::jsonb))
      where dedupe = 'm1'`;
    expect(await why(store, first)).toEqual({ kind: 'not_retried', reason: 'has_client_tools' });
    await store.sql`delete from lane_item where dedupe = 'm1'`;
    expect(await why(store, first)).toEqual({ kind: 'not_retried', reason: 'too_old' });
    const second = await session.turn('2');
    const rows = await store.contexts.unsummarized(key, 400);
    await store.contexts.summarize(key, {
      from: 1,
      upTo: 2,
      rows: rows.map(({ seq }) => seq),
      summary: { kind: 'summary', content: 'sum' },
      tokens: 1,
    });
    expect(await why(store, second)).toEqual({ kind: 'not_retried', reason: 'summarized' });
    expect([await undoNewest(store), await store.tries.choose(key, second)]).toEqual([
      'summarized',
      'summarized',
    ]);
  });

  it(`has at most ${MAX_TRIES} answers`, async () => {
    const store = await databases.open();
    const session = await openSession(store);
    let newest = await session.turn('1');
    const first = newest;
    for (let n = 2; n <= MAX_TRIES; n += 1) newest = await session.retry(newest, String(n));
    expect(await why(store, newest)).toEqual({ kind: 'not_retried', reason: 'too_many_tries' });
    expect(await reads(store, session.node)).toEqual(['q1', `a${MAX_TRIES}`]);
    const tries = (await store.ledger.messages(key, { limit: 50 })).flatMap(({ tries: one }) => one ?? []);
    expect(tries).toHaveLength(MAX_TRIES);
    expect(tries.every(({ of, count }) => of === first && count === MAX_TRIES)).toBe(true);
  });

  it('is not retracted across /new, nor summarized once it is left out', async () => {
    const store = await databases.open();
    const session = await openSession(store);
    const first = await session.turn('1');
    await session.turn('2');
    const rows = await store.contexts.unsummarized(key, 400);
    await undoNewest(store);
    const summary = { kind: 'summary' as const, content: 'sum' };
    const range = { from: 1, upTo: 2, rows: rows.map(({ seq }) => seq), summary, tokens: 1 };
    expect(await store.contexts.summarize(key, range)).toBe(false);
    expect((await store.contexts.unsummarized(key, 400)).map(({ laneSeq }) => laneSeq)).toEqual([1, 1]);
    await store.lanes.stop(key, { fresh: true });
    expect(await undoNewest(store)).toBe('nothing');
    expect(await store.tries.choose(key, first)).toBe('nothing');
    expect(await store.tries.lastQuestion(key)).toBeUndefined();
    const fork = await store.forks.fork({
      source: key,
      seq: 4,
      key: 'http:copy',
      folder: 'f',
      ownerTokenId: 't',
      userId: 'u',
      title: undefined,
    });
    expect(fork?.messages).toBe(4);
    const copied = await store.ledger.messages('http:copy', { limit: 9 });
    expect(copied.map(({ leftOut }) => leftOut)).toEqual([undefined, undefined, true, true]);
  });
});
