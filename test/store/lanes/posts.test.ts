/** Messages in the middle of a turn: stored and queued together, once per call, and only where the session is read. */
import { expect, it } from 'vitest';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';

describeStore('messages in the middle of a turn', (databases) => {
  const begin = async (store: TestStore, change = {}) => {
    const node = await store.lanes.register('one', 60_000);
    const accepted = await store.ledger.accept({ ...request('Hi', change), node });
    if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
    return { node, turnId: accepted.turnId };
  };

  it('are stored and queued in one step, and claimed for the requesting node', async () => {
    const store = await databases.open();
    const { node, turnId } = await begin(store);
    const post = { ref: `${turnId}.1.0`, turnId, address: 'telegram:42' as const, content: 'Wait a bit.' };
    const posted = await store.posts.post(post, 9, node);
    expect(posted).toMatchObject({
      kind: 'posted',
      seq: 2,
      heads: [{ lane: 'out:telegram:42', payload: { ref: post.ref } }],
    });
    expect(await store.ledger.messages('telegram:42', { limit: 9 })).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Wait a bit.', isPlan: false },
    ]);
    expect(await store.ledger.turn(turnId)).toMatchObject({ final: undefined });
  });

  it('are sent once, however often and from wherever the call is retried (B-23)', async () => {
    const store = await databases.open();
    const other = await databases.open({ beside: store });
    const { node, turnId } = await begin(store);
    const post = { ref: `${turnId}.1.0`, turnId, address: 'telegram:42' as const, content: 'Once.' };
    const all = await Promise.all([store, other, store, other].map((one) => one.posts.post(post, 9, node)));
    expect(all.map(({ kind }) => kind).toSorted()).toEqual(['known', 'known', 'known', 'posted']);
    const rows = await store.sql`select seq from lane_item where lane = 'out:telegram:42'`;
    expect(rows).toHaveLength(1);
    expect(await store.ledger.messages('telegram:42', { limit: 9 })).toHaveLength(2);
  });

  it('are limited per turn', async () => {
    const store = await databases.open();
    const { turnId } = await begin(store);
    const send = (n: number) =>
      store.posts.post({ ref: `${turnId}.${n}.0`, turnId, address: 'telegram:42', content: `${n}` }, 2);
    expect([await send(1), await send(2), await send(3), await send(2)].map(({ kind }) => kind)).toEqual([
      'posted',
      'posted',
      'full',
      'known',
    ]);
  });

  it('go to the addresses of the session and no others', async () => {
    const store = await databases.open();
    await store.sql`insert into address (key, session) values ('discord:9', 'telegram:42'), ('telegram:7', 'http:x')`;
    const { turnId } = await begin(store);
    const send = async (address: `${string}:${string}`) => {
      const { kind } = await store.posts.post(
        { ref: `${turnId}.${address}`, turnId, address, content: 'x' },
        9,
      );
      return kind;
    };
    expect([await send('telegram:42'), await send('discord:9')]).toEqual(['posted', 'posted']);
    expect([await send('telegram:43'), await send('telegram:7'), await send('http:x')]).toEqual(
      Array.from({ length: 3 }, () => 'foreign'),
    );
    const lanes = await store.sql<{ key: string }[]>`select key from lane where class = 'out' order by key`;
    expect(lanes.map(({ key }) => key)).toEqual(['out:discord:9', 'out:telegram:42']);
  });

  it('over HTTP are only stored: the message is the delivery', async () => {
    const store = await databases.open();
    const { node, turnId } = await begin(store, { channel: 'http', chatId: 'notes' });
    const post = { ref: `${turnId}.1.0`, turnId, address: 'http:notes' as const, content: 'Look.' };
    expect(await store.posts.post(post, 9, node)).toEqual({ kind: 'posted', seq: 2, heads: [] });
    expect(await store.posts.post(post, 9, node)).toEqual({ kind: 'known', heads: [] });
    const lanes = await store.sql`select key from lane where class = 'out'`;
    expect(lanes).toHaveLength(0);
    expect(await store.ledger.messages('http:notes', { limit: 9 })).toMatchObject([{}, { content: 'Look.' }]);
  });

  it('go to another conversation of the same user when it is named, within the limit there, and stay separate', async () => {
    const store = await databases.open();
    const { node, turnId } = await begin(store);
    await store.ledger.accept(request('other', { chatId: '43' }));
    const post = (n: number, more = {}) =>
      store.posts.post(
        { ref: `${turnId}.${n}.0`, turnId, address: 'telegram:43', content: `Told ${n}.`, ...more },
        2,
        node,
      );
    expect(await post(1)).toMatchObject({ kind: 'foreign' });
    const session = { session: 'telegram:43' as const };
    expect(await post(2, session)).toMatchObject({ kind: 'posted', heads: [{ lane: 'out:telegram:43' }] });
    expect(await post(2, session)).toMatchObject({ kind: 'known' });
    expect(await post(3, session)).toMatchObject({ kind: 'posted' });
    expect(await post(4, session)).toMatchObject({ kind: 'full', limit: 2 });
    const contents = async (key: 'telegram:42' | 'telegram:43') =>
      (await store.ledger.messages(key, { limit: 9 })).map(({ content }) => content);
    expect((await contents('telegram:43')).slice(1)).toEqual(['Told 2.', 'Told 3.']);
    expect(await contents('telegram:42')).toHaveLength(1);
    // The chat has joined another conversation since the lookup.
    await store.sql`insert into address (key, session) values ('telegram:43', 'discord:1')`;
    expect(await post(5, session)).toMatchObject({ kind: 'foreign' });
  });
});
