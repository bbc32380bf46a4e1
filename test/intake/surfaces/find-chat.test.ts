/** Where a person is notified: in their linked chats, their own private chat, and never in a chat of someone else. */
import { partial } from '../../fakes/partial.ts';
import { expect, it } from 'vitest';
import type { FindChat } from '../../../src/protocol/delivery.ts';
import type { Address } from '../../../src/protocol/message.ts';
import { createFindChat } from '../../../src/intake/index.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../../store/requests.ts';

const LABELS: Record<string, string> = { telegram: 'Telegram', discord: 'Discord', http: 'Web' };

describeStore('the chat that a model names', (databases) => {
  let codes = 0;
  const link = async (store: TestStore, from: Address, ...others: Address[]): Promise<void> => {
    for (const to of others) {
      codes += 1;
      const hash = String(codes).padStart(64, 'c');
      const end = (address: Address) => ({ address, place: 'private' as const, userId: `of ${address}` });
      await store.surfaces.giveCode(hash, { ...end(from), session: from });
      await store.surfaces.enterCode(hash, end(to));
      for (const address of [from, to])
        await store.surfaces.agree({ address, userId: `of ${address}`, owner: false });
    }
  };
  const finder = (store: TestStore, allowed = true): FindChat =>
    createFindChat({
      ...store,
      creatorAccess: partial({
        placeOf: async (address) => (address.includes(':-') ? 'group' : 'private'),
        isStillAllowed: async () => allowed,
      }),
      labelOf: (channel) => LABELS[channel],
    });
  const on = (address: Address, userId: string = `of ${address}`) => ({ session: address, address, userId });

  it('is a linked one, by its network in any spelling or by its address', async () => {
    const store = await databases.open();
    await link(store, 'discord:1', 'telegram:1');
    const find = finder(store);
    const found = { kind: 'found', address: 'telegram:1', session: 'discord:1' };
    for (const to of ['telegram', 'Telegram', 'TELEGRAM', 'telegram:1'])
      expect(await find({ to, ...on('discord:1') })).toEqual(found);
    // This one, if no other chat of the network is known.
    expect(await find({ to: 'discord', ...on('discord:1') })).toMatchObject({ address: 'discord:1' });
    expect(await find({ to: 'web', ...on('discord:1') })).toEqual({
      kind: 'none',
      others: ['discord:1', 'telegram:1'],
    });
  });

  it('has to be chosen if a network has several', async () => {
    const store = await databases.open();
    await link(store, 'discord:2', 'telegram:21', 'telegram:22');
    expect(await finder(store)({ to: 'telegram', ...on('discord:2') })).toEqual({
      kind: 'several',
      addresses: ['telegram:21', 'telegram:22'],
    });
  });

  it('is the private chat of the user who writes in a group, once they have written there, and while they may', async () => {
    const store = await databases.open();
    const group = on('telegram:-3', 'telegram:3');
    expect(await finder(store)({ to: 'telegram:3', ...group })).toEqual({ kind: 'foreign' });
    await store.ledger.accept(request('m1', { channel: 'telegram', chatId: '3' }));
    const found = { kind: 'found', address: 'telegram:3', session: 'telegram:3' };
    expect(await finder(store)({ to: 'telegram:3', ...group })).toEqual(found);
    expect(await finder(store)({ to: 'telegram', ...group })).toEqual(found);
    expect(await finder(store, false)({ to: 'telegram', ...group })).toEqual({ kind: 'foreign' });
  });

  it('is never one of someone else, whatever the model writes', async () => {
    const store = await databases.open();
    await store.ledger.accept(request('m1', { channel: 'telegram', chatId: '4' }));
    await link(store, 'telegram:5', 'discord:5');
    const find = finder(store);
    for (const to of ['telegram:4', 'telegram:5', 'discord:5', 'http:notes', 'telegram:4:1', 'token:x'])
      expect(await find({ to, ...on('telegram:-6', 'telegram:6') })).toEqual({ kind: 'foreign' });
    for (const to of ['everybody', '*', 'telegram4', ''])
      expect(await find({ to, ...on('telegram:-6', 'telegram:6') })).toMatchObject({ kind: 'none' });
  });

  it('is also a linked one for what a schedule started', async () => {
    const store = await databases.open();
    await link(store, 'discord:7', 'telegram:7');
    const by = on('discord:7', 'system');
    expect(await finder(store)({ to: 'telegram', ...by })).toMatchObject({ address: 'telegram:7' });
    expect(await finder(store)({ to: 'telegram', ...on('discord:8', 'system') })).toMatchObject({
      kind: 'none',
    });
  });
});
