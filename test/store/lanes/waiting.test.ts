/** Waiting messages, changed in the store: atomically, in order, and never once they are claimed. */
import { expect, it } from 'vitest';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, finished, LEASE_MS, only, said } from './turns.ts';

const key = 'telegram:42' as const;

/** A running turn `m1`, and messages behind it. */
async function openQueue(store: TestStore, count: number) {
  const node = await store.lanes.register('home', LEASE_MS);
  const head = only(accepted(await store.ledger.accept(request('m1', {}, node))));
  const turns: string[] = [];
  for (let n = 2; n <= count + 1; n += 1) {
    const { turnId } = accepted(await store.ledger.accept(request(`m${n}`)));
    turns.push(turnId);
  }
  const { payload } = head;
  const turnId = typeof payload === 'object' && payload !== null && 'turnId' in payload ? payload.turnId : '';
  return { node, head, turnId: String(turnId), turns };
}

const texts = async (store: TestStore): Promise<string[]> =>
  (await store.waiting.waiting(key)).messages.map(({ content }) => content);

/** Ends the head and those after it; returns their texts in the order in which they ran. */
async function runAll(store: TestStore, first: Awaited<ReturnType<typeof openQueue>>): Promise<string[]> {
  const ran: string[] = [];
  let { head } = first;
  for (;;) {
    const row = await store.ledger.turnAt(head);
    const opened = await store.ledger.openTurn(head, row?.turnId ?? '', 50);
    expect(opened.address).toBe(key);
    const payload = head.payload as { turnId: string; message: { content: string } };
    expect(payload.turnId).toBe(row?.turnId);
    ran.push(payload.message.content);
    const step = await store.ledger.finishTurn(
      head,
      finished(payload.turnId, 'a', { entries: [said(payload.message.content)] }),
    );
    const [next] = step.heads;
    if (next === undefined) return ran;
    head = next;
  }
}

describeStore('the waiting messages', (databases) => {
  it('are edited, moved to the front and dropped, and run in the order that users left them in', async () => {
    const store = await databases.open();
    const queue = await openQueue(store, 4);
    const [second = '', third = '', fourth = '', fifth = ''] = queue.turns;
    expect(await store.waiting.waiting(key)).toMatchObject({ mode: 'queue', busy: true });
    const edit = { content: 'changed', senderId: '7' };
    expect(await store.waiting.editWaiting(key, third, edit)).toBe('changed');
    expect(await store.waiting.sendWaitingNow(key, fifth)).toBe('changed');
    expect(await store.waiting.dropWaiting(key, second)).toBe('changed');
    expect(await store.waiting.dropWaiting(key, second)).toBe('begun');
    expect(await texts(store)).toEqual(['text of m5', 'changed', 'text of m4']);
    expect(await store.lanes.flags(queue.node)).toMatchObject([{ interruptSeq: 1 }]);
    expect(await runAll(store, queue)).toEqual(['text of m1', 'text of m5', 'changed', 'text of m4']);
    const shown = await store.ledger.messages(key, { limit: 20 });
    expect(shown.filter(({ leftOut }) => leftOut).map(({ content }) => content)).toEqual(['text of m2']);
    expect(shown.map(({ content }) => content)).toContain('changed');
    expect(await store.waiting.editWaiting(key, fourth, edit)).toBe('begun');
    expect(await store.ledger.accept(request('m2'))).toMatchObject({ kind: 'duplicate', turnId: second });
    const fork = {
      source: key,
      seq: 20,
      key: 'http:c',
      folder: 'f',
      ownerTokenId: 't',
      userId: 'u',
    } as const;
    const count = shown.length;
    expect(await store.forks.fork({ ...fork, seq: count, title: undefined })).toMatchObject({
      messages: count - 1,
    });
  });

  it('do not include a head that a node holds, nor one that waits for a human', async () => {
    const store = await databases.open();
    const queue = await openQueue(store, 1);
    expect(await store.waiting.dropWaiting(key, queue.turnId)).toBe('begun');
    await store.ledger.openTurn(queue.head, queue.turnId, 50);
    await store.lanes.park(queue.head, { id: 'a', turnId: queue.turnId, detail: {}, expiresInMs: 60_000 });
    expect(await store.waiting.sendWaitingNow(key, queue.turnId)).toBe('begun');
    expect(await store.waiting.waiting(key)).toMatchObject({
      busy: true,
      messages: [{ content: 'text of m2' }],
    });
  });

  it('are an empty queue once the last one is dropped, and the next message starts immediately', async () => {
    const store = await databases.open();
    await store.ledger.accept(request('m1'));
    const { messages } = await store.waiting.waiting(key);
    expect(await store.waiting.dropWaiting(key, messages[0]?.turnId ?? '')).toBe('changed');
    expect(await store.ledger.queue(key)).toEqual({ busy: false, waiting: 0 });
    const node = await store.lanes.register('home', LEASE_MS);
    expect(only(accepted(await store.ledger.accept(request('m2', {}, node)))).dedupe).toBe('m2');
  });

  it('do not join a turn that read them before they were changed', async () => {
    const store = await databases.open();
    const queue = await openQueue(store, 2);
    const [second = '', third = ''] = queue.turns;
    const join = (joined: { seq: number; turnId: string; edited?: number }[]) =>
      store.ledger.joinTurn(queue.head, queue.turnId, { rows: [said('q1')], joined });
    await store.waiting.editWaiting(key, second, { content: 'changed', senderId: '7' });
    expect(await join([{ seq: 2, turnId: second }])).toBe(false);
    await store.waiting.sendWaitingNow(key, third);
    expect(await join([{ seq: 2, turnId: second, edited: 1 }])).toBe(false);
    expect(await join([{ seq: 2, turnId: third }])).toBe(true);
    expect(await join([{ seq: 2, turnId: third }])).toBe(true);
    expect(await texts(store)).toEqual(['changed']);
  });

  it('are found by their id on the platform, in their chat or thread only, until their turn begins', async () => {
    const store = await databases.open();
    const node = await store.lanes.register('home', LEASE_MS);
    const ask = async (id: string, threadId?: string) =>
      accepted(await store.ledger.accept(request(id, { messageId: id, chatId: '-7', threadId })));
    const head = only(
      accepted(await store.ledger.accept(request('m1', { messageId: 'm1', chatId: '-7' }, node))),
    );
    const [second, inThread] = [await ask('m2'), await ask('m3', '5')];
    const find = async (chatId: string, messageIds: string[], channel = 'telegram') =>
      (await store.questions.unansweredQuestions({ channel, chatId, messageIds })).map(
        ({ turnId }) => turnId,
      );
    expect(await find('-7', ['m2', 'm9'])).toEqual([second.turnId]);
    expect(await find('-7', ['m3'])).toEqual([inThread.turnId]);
    expect(await find('5', ['m3', 'm2'])).toEqual([inThread.turnId]);
    expect([...(await find('8', ['m2'])), ...(await find('-7', ['m2'], 'discord'))]).toEqual([]);
    const [running = ''] = await find('-7', ['m1']);
    expect(await store.waiting.dropWaiting('telegram:-7', running)).toBe('begun');
    expect(await store.waiting.dropWaiting('telegram:-7', second.turnId)).toBe('changed');
    expect(await find('-7', ['m2'])).toEqual([]);
    await store.ledger.finishTurn(head, finished(running, 'a', { entries: [said('text of m1')] }));
    expect(await find('-7', ['m1'])).toEqual([]);
  });
});
