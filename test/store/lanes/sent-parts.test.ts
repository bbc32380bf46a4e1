/** Platform ids of what is on screen, stored by any node that knows them, on both databases. */
import { expect, it } from 'vitest';
import { connect } from '../../../src/store/database/database.ts';
import { SECOND_TRY } from '../../../src/protocol/store/ledger.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { describeStore, silentLog } from '../../database.ts';
import { IN_ROOM, LEASE_MS, only, startTurn } from './turns.ts';

const [A, B, C] = [{ id: 'a' }, { id: 'b', metadata: { token: 't' } }, { id: 'c' }];
const HELD = { held: true, copies: [] };

describeStore('records of what is on screen', (databases) => {
  /** A turn whose lane an older node has lost to a newer one. */
  async function takenOver() {
    const store = await databases.open();
    const { turnId, head: lost } = await startTurn(store);
    const node = await store.lanes.register('home of m1', LEASE_MS);
    const held = only(await store.lanes.sweep(node, IN_ROOM));
    return { ledger: store.ledger, turnId, lost, held };
  }

  it('grow part by part, and stay the same when repeated', async () => {
    const store = await databases.open();
    const { turnId, head } = await startTurn(store);
    for (const sent of [[A], [A, B], [A, B], [A, B, C]])
      expect(await store.ledger.noteSent(head, turnId, sent)).toEqual(HELD);
    expect(await store.ledger.sentParts(turnId)).toEqual([A, B, C]);
  });

  it('are found among the ids of all deliveries', async () => {
    const store = await databases.open();
    const { turnId, head } = await startTurn(store);
    await store.ledger.noteSent(head, turnId, [A, B]);
    expect((await store.ledger.sentAmong([A.id, B.id, C.id])).toSorted()).toEqual([A.id, B.id].toSorted());
    expect(await store.ledger.sentAmong([C.id])).toEqual([]);
  });

  it('are found among those of a chat and its threads, whether delivered or of an answer that grows', async () => {
    const store = await databases.open();
    const { ledger } = store;
    const { turnId, head } = await startTurn(store);
    await ledger.noteSent(head, turnId, [A]);
    const place = { channel: 'telegram', chatId: '42', threadId: '7' };
    const message = { ...place, content: '', media: [], buttons: [] };
    await ledger.enqueue('telegram:42:7', { ref: 'note', message }, undefined);
    await ledger.noteSent(head, 'note', [B]);
    const ids = [A.id, B.id];
    expect((await ledger.sentAmong(ids, 'telegram:42')).toSorted()).toEqual(ids.toSorted());
    for (const other of ['telegram:4', 'telegram:43', 'telegram:421', 'fake:42'] as const)
      expect(await ledger.sentAmong(ids, other)).toEqual([]);
  });

  it('are stored while every other statement waits', async ({ skip }) => {
    const store = await databases.open();
    const { url, schema } = store.place;
    if (url === undefined) skip('The embedded database runs one statement after the other.');
    const { turnId, head } = await startTurn(store);
    const small = await openStoreAt({ url, schema }, { log: silentLog, migrate: false, poolSize: 1 });
    const release = Promise.withResolvers<void>();
    const locker = connect(store.place, 1);
    const locked = Promise.withResolvers<void>();
    const held = locker.begin(async (sql) => {
      await sql`lock table message in access exclusive mode`;
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const waiting = Array.from({ length: 5 }, () => small.ledger.messages('fake:m1', { limit: 5 }));
    expect(await small.ledger.noteSent(head, turnId, [A])).toEqual(HELD);
    release.resolve();
    await Promise.all([held, ...waiting]);
    await Promise.all([small.close(), locker.end()]);
  });

  it('are replaced by the owner of the lane, which learns what is no longer a part', async () => {
    const store = await databases.open();
    const { turnId, head } = await startTurn(store);
    await store.ledger.noteSent(head, turnId, [A, B]);
    expect(await store.ledger.noteSent(head, turnId, [A, C])).toEqual({ held: true, copies: [B] });
    expect(await store.ledger.sentParts(turnId)).toEqual([A, C]);
  });

  it('are stored after the lane was lost when there are no others: the next owner continues from them', async () => {
    const { ledger, turnId, lost, held } = await takenOver();
    expect(await ledger.noteSent(lost, turnId, [A])).toEqual({ held: false, copies: [] });
    expect(await ledger.noteSent(lost, turnId, [A, B])).toEqual({ held: false, copies: [] });
    expect((await ledger.openTurn(held, turnId, 5)).placeholders).toEqual([A, B]);
  });

  it('are copies when the next owner has already shown something else', async () => {
    const { ledger, turnId, lost, held } = await takenOver();
    expect(await ledger.noteSent(held, turnId, [C])).toEqual(HELD);
    expect(await ledger.noteSent(lost, turnId, [A, B])).toEqual({ held: false, copies: [A, B] });
    expect(await ledger.noteSent(lost, turnId, [C])).toEqual({ held: false, copies: [] });
    expect(await ledger.sentParts(turnId)).toEqual([C]);
  });

  it('are also copies when the next owner did not know about them before sending its own', async () => {
    const { ledger, turnId, lost, held } = await takenOver();
    await ledger.openTurn(held, turnId, 5);
    await ledger.noteSent(lost, turnId, [A]);
    expect(await ledger.noteSent(held, turnId, [C])).toEqual({ held: true, copies: [A] });
    expect(await ledger.sentParts(turnId)).toEqual([C]);
  });

  it('whose last edit was given up are edited once more: not those edited since, never shown, or tried a second time', async () => {
    const { ledger, lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const message = { channel: 'a', chatId: '1', content: '', media: [], buttons: [] };
    const deliveries = [
      { ref: 'card', isDead: true },
      { ref: 'card', key: 'card:finished', isDead: true },
      { ref: 'edited', key: 'edited:one', isDead: true },
      { ref: 'edited', key: 'edited:two', isDead: false },
      { ref: 'unseen', key: 'unseen:finished', isDead: true },
      { ref: 'tried', key: `tried:finished${SECOND_TRY}`, isDead: true },
    ];
    for (const { isDead, ...delivery } of deliveries) {
      const head = only((await ledger.enqueue('a:1', { ...delivery, message }, node)).heads);
      if (delivery.ref !== 'unseen') await ledger.noteSent(head, delivery.ref, [A]);
      await lanes.finish(head, isDead ? 'the chat refuses it' : undefined, isDead);
    }
    expect(await ledger.missedEdits('a:1')).toEqual([{ ref: 'card', key: 'card:finished', message }]);
    expect(await ledger.missedEdits('a:2')).toEqual([]);
  });
});
