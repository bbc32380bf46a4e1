/** The life of a message on both databases: T1 to T7, each exactly once, whatever is repeated. */
import { expect, it } from 'vitest';
import { FencedError } from '../../../src/protocol/errors.ts';
import { MAX_PENDING } from '../../../src/protocol/store/ledger.ts';
import { describeStore } from '../../database.ts';
import { request } from '../requests.ts';
import {
  accepted,
  answer,
  delivery,
  finished,
  IN_ROOM,
  LEASE_MS,
  only,
  said,
  startTurn,
} from '../lanes/turns.ts';

describeStore('ledger', (databases) => {
  it('stores a message with its user row and its turn in one commit (T1)', async () => {
    const store = await databases.open();
    const { ledger } = store;
    const { turnId, head } = await startTurn(store);
    expect(head).toMatchObject({ lane: 'in:telegram:42', seq: 1, dedupe: 'm1', stopped: false });
    expect(head.payload).toMatchObject({ turnId, address: 'telegram:42', entry: 'runStream' });
    const second = accepted(await ledger.accept(request('m2')));
    expect(second).toMatchObject({ session: 'telegram:42', laneSeq: 2, seq: 2, position: 1, heads: [] });
    const messages = await ledger.messages('telegram:42', { limit: 10 });
    expect(
      messages.map(({ seq, role, content, senderName }) => ({ seq, role, content, senderName })),
    ).toEqual([
      { seq: 1, role: 'user', content: 'text of m1', senderName: 'Ada' },
      { seq: 2, role: 'user', content: 'text of m2', senderName: 'Ada' },
    ]);
    expect(await ledger.turn(turnId)).toMatchObject({ session: 'telegram:42', state: 'queued' });
    expect(await ledger.session('telegram:42')).toMatchObject({
      profileId: 'default',
      mode: 'planner',
      messageCount: 2,
    });
  });

  it('stores the placeholder of a message in the commit of the message (T1)', async () => {
    const store = await databases.open();
    const placeholder = { id: '@original', metadata: { interactionToken: 'aW50' } };
    const { turnId, head } = await startTurn(store, 'm1', { placeholder });
    expect(await store.ledger.sentParts(turnId)).toEqual([placeholder]);
    expect((await store.ledger.openTurn(head, turnId, 5)).placeholders).toEqual([placeholder]);
  });

  it('returns a finished turn with its usage', async () => {
    const store = await databases.open();
    const { turnId, head } = await startTurn(store);
    expect((await store.ledger.turn(turnId))?.usage).toBeUndefined();
    await store.ledger.finishTurn(head, finished(turnId, 'hello'));
    const used = { promptTokens: 10, completionTokens: 5, modelMs: 7 };
    expect(await store.ledger.turn(turnId)).toMatchObject({ state: 'done', usage: used });
  });

  it('creates one session for racing first messages, and returns the first ids for a repeated one, without a gap (B-04)', async () => {
    const { ledger, sql } = await databases.open();
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ledger.accept(request(`m${i % 8}`))),
    );
    const first = results.flatMap((result) => (result.kind === 'accepted' ? [result] : []));
    expect(first.map((result) => result.laneSeq).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await sql`select key from session`).toEqual([{ key: 'telegram:42' }]);
    const again = await ledger.accept(request('m3'));
    const original = await sql`select id from turn where id = ${'turnId' in again ? again.turnId : ''}`;
    expect(again.kind).toBe('duplicate');
    expect(original).toHaveLength(1);
    expect((await ledger.messages('telegram:42', { limit: 100 })).map((row) => row.seq)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ]);
  });

  it(`holds ${MAX_PENDING} messages of a session and refuses the next, but still recognizes a repeated one`, async () => {
    const { ledger, lanes } = await databases.open();
    for (let i = 0; i < MAX_PENDING; i += 1) accepted(await ledger.accept(request(`m${i}`)));
    expect(await ledger.accept(request('one too many'))).toEqual({ kind: 'full', limit: MAX_PENDING });
    expect(await ledger.accept(request('m5'))).toMatchObject({ kind: 'duplicate', laneSeq: 6 });
    expect(await ledger.counts()).toMatchObject({ pending: MAX_PENDING, running: 0, sessions: 1 });
    expect(await lanes.stop('telegram:42', { fresh: false })).toEqual({
      stopped: false,
      cancelled: MAX_PENDING,
    });
    expect(accepted(await ledger.accept(request('after'))).position).toBe(0);
    expect((await ledger.messages('telegram:42', { limit: 500 })).length).toBe(MAX_PENDING + 1);
  });

  it('returns the journal, history and placeholders of a turn, each row once (T2 T3 T4)', async () => {
    const store = await databases.open();
    const { ledger } = store;
    const { turnId, head } = await startTurn(store);
    expect(await ledger.openTurn(head, turnId, 50)).toMatchObject({
      journal: [],
      history: [],
      placeholders: [],
    });
    const intent = { kind: 'tool_intent' as const, toolCallId: 'c', toolName: 'write', callIndex: 0 };
    const result = { ...intent, kind: 'tool_result' as const, content: 'done \0 \ud800', isError: false };
    for (let i = 0; i < 2; i += 1) {
      await ledger.journalAnswer(head, turnId, [said('hello'), answer(1, 'thinking')]);
      await ledger.toolIntent(head, turnId, 1, intent);
      await ledger.toolResult(head, turnId, 1, result, 4);
      await ledger.noteSent(head, turnId, [{ id: `p${i}` }]);
    }
    const opened = await ledger.openTurn(head, turnId, 50);
    expect(opened.journal.map((row) => row.entry.kind)).toEqual([
      'user',
      'assistant',
      'tool_intent',
      'tool_result',
    ]);
    expect(opened.journal[3]).toMatchObject({
      turnId,
      iteration: 1,
      tokens: 4,
      entry: { content: 'done \u2400 \ufffd' },
    });
    expect(opened.placeholders).toEqual([{ id: 'p1' }]);
    expect(opened).toMatchObject({ address: 'telegram:42', session: { key: 'telegram:42' }, history: [] });
    expect(opened.session.createdAt).toBeInstanceOf(Date);
    expect((await ledger.turn(turnId))?.state).toBe('running');
  });

  it('ends a turn, queues its delivery and returns the next heads in one commit (T6 T7)', async () => {
    const store = await databases.open();
    const { ledger, lanes } = store;
    const { node, turnId, head } = await startTurn(store);
    const next = accepted(await ledger.accept(request('m2')));
    await ledger.openTurn(head, turnId, 50);
    await ledger.journalAnswer(head, turnId, [said('hello'), answer(1, 'hi')]);
    const outbound = delivery(turnId, 'telegram:42', 'hi');
    const step = await ledger.finishTurn(head, finished(turnId, 'hi', { outbound }));
    expect(step.heads.map((claimed) => claimed.lane).toSorted()).toEqual([
      'in:telegram:42',
      'out:telegram:42',
    ]);
    const out = step.heads.find((claimed) => claimed.lane === 'out:telegram:42')!;
    expect(out).toMatchObject({ node, dedupe: turnId, payload: outbound });
    const later = step.heads.find((claimed) => claimed.lane === 'in:telegram:42')!;
    expect(later.payload).toMatchObject({ turnId: next.turnId });
    expect(await ledger.turn(turnId)).toMatchObject({
      state: 'done',
      reason: 'completed',
      final: { content: 'hi', seq: 3 },
    });
    const opened = await ledger.openTurn(later, next.turnId, 50);
    expect(opened.history.map((row) => row.entry)).toMatchObject([{ content: 'hello' }, { content: 'hi' }]);
    await ledger.noteSent(out, turnId, [{ id: 'a' }]);
    expect(await ledger.undelivered('telegram:42')).toBe(true);
    expect(await ledger.finishDelivery(out, turnId, [{ id: 'a' }, { id: 'b' }])).toEqual({ heads: [] });
    expect(await ledger.undelivered('telegram:42')).toBe(false);
    expect(await ledger.sentParts(turnId)).toEqual([{ id: 'a' }, { id: 'b' }]);
    expect(await lanes.sweep(node, [{ class: 'out', free: 9 }])).toEqual([]);
  });

  it('writes nothing for a turn that another node has claimed', async () => {
    const store = await databases.open();
    const { ledger, lanes } = store;
    const { turnId, head } = await startTurn(store);
    const young = await lanes.register('home of m1', LEASE_MS);
    const taken = only(await lanes.sweep(young, IN_ROOM));
    const stale = [
      () => ledger.openTurn(head, turnId, 5),
      () => ledger.journalAnswer(head, turnId, [answer(1, 'stale')]),
      () =>
        ledger.finishTurn(
          head,
          finished(turnId, 'stale', { outbound: delivery(turnId, 'telegram:42', 'x') }),
        ),
      () => ledger.finishDelivery({ ...head, lane: 'out:telegram:42' }, turnId, []),
    ];
    for (const write of stale) await expect(write()).rejects.toThrow(FencedError);
    expect(await ledger.openTurn(taken, turnId, 5)).toMatchObject({ journal: [], placeholders: [] });
    expect(await ledger.messages('telegram:42', { limit: 9 })).toHaveLength(1);
    const repeated = finished(turnId, 'mine');
    expect(await ledger.finishTurn(taken, repeated)).toEqual({ heads: [] });
    expect(await ledger.finishTurn(taken, repeated)).toEqual({ heads: [] });
    expect(await ledger.messages('telegram:42', { limit: 9 })).toHaveLength(2);
  });

  it('lists a failed turn and runs it again on demand', async () => {
    const store = await databases.open();
    const { ledger, lanes } = store;
    const { node, turnId, head } = await startTurn(store);
    await ledger.openTurn(head, turnId, 5);
    const dead = finished(turnId, 'It failed.', {
      reason: 'failed',
      isError: true,
      deadLetter: 'five errors',
    });
    await ledger.finishTurn(head, dead);
    expect(await lanes.deadLetters(5)).toMatchObject([
      { lane: 'in:telegram:42', seq: 1, error: 'five errors' },
    ]);
    expect(await lanes.replayDeadLetter('in:telegram:42', 1)).toBe(true);
    const again = only(await lanes.sweep(node, IN_ROOM));
    expect(again).toMatchObject({ seq: 2, payload: { turnId } });
    expect((await ledger.turn(turnId))?.state).toBe('queued');
    await ledger.openTurn(again, turnId, 5);
    await ledger.finishTurn(again, finished(turnId, 'It works.'));
    expect((await ledger.turn(turnId))?.final?.content).toBe('It works.');
  });

  it('queues a notice once per ref', async () => {
    const { ledger, lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const notice = delivery('notice-1', 'discord:5', 'hello');
    const head = only(await ledger.enqueue('discord:5', notice, node));
    expect(head).toMatchObject({ lane: 'out:discord:5', payload: notice });
    expect(await ledger.enqueue('discord:5', notice, node)).toEqual({ heads: [] });
    expect(await ledger.finishDelivery(head, 'notice-1', [{ id: 'x' }])).toEqual({ heads: [] });
  });

  it('stores any text a user can send, and any id', async () => {
    const { ledger } = await databases.open();
    const wild = 'nul \0 lone \ud83d half \udc00 fine 😀 \\u0000 "quoted"';
    const metadata = { ['key \0']: 'value \ud800' };
    const change = { content: wild, senderName: wild, chatId: 'c\0', metadata };
    const result = accepted(await ledger.accept(request(`${wild}${'x'.repeat(10_000)}`, change)));
    const [message] = await ledger.messages(result.session, { limit: 1 });
    const clean = wild.toWellFormed().replaceAll('\0', '\u2400');
    expect(message).toMatchObject({ content: clean, senderName: clean });
    expect(await ledger.accept(request(`${wild}${'x'.repeat(10_000)}`, change))).toMatchObject({
      kind: 'duplicate',
    });
  });
});
