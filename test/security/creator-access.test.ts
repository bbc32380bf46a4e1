/** The rights of a schedule's creator when it is due. */
import { expect, it } from 'vitest';
import type { ChannelAccess } from '../../src/protocol/access.ts';
import { channels } from '../../channels/index.ts';
import { createCreatorAccess } from '../../src/security/index.ts';
import { describeStore, type TestStore } from '../database.ts';
import { request } from '../store/requests.ts';

const rules = (change: Partial<ChannelAccess> = {}): ChannelAccess => ({
  dm: 'pairing',
  allow: ['5'],
  groups: { '-50': { mention: true } },
  owners: ['9'],
  ...change,
});

function creatorAccessOf(store: TestStore, change?: Partial<ChannelAccess>) {
  return createCreatorAccess({
    access: store.access,
    ledger: store.ledger,
    surfaces: store.surfaces,
    channelAccess: (name) => {
      const ids = channels.find((channel) => channel.name === name)?.ids;
      return ids && rules({ privacyOf: ids.privacyOf, ...change });
    },
  });
}

describeStore("the rights of a schedule's creator", (databases) => {
  it('in a private chat are those of the user: granted, listed, owner, or dm: open', async () => {
    const store = await databases.open();
    const may = (id: string, change?: Partial<ChannelAccess>) =>
      creatorAccessOf(store, change).isStillAllowed(`telegram:${id}`, `telegram:${id}`, 'private');
    expect([await may('5'), await may('9'), await may('7')]).toEqual([true, true, false]);
    await store.access.addGrant('telegram', 'dm', '7');
    expect(await may('7')).toBe(true);
    await store.access.removeGrant('telegram', 'dm', '7');
    expect(await may('7')).toBe(false);
    expect(await may('7', { dm: 'open' })).toBe(true);
  });

  it('in a group need the group, and an owner: members come and go', async () => {
    const store = await databases.open();
    const may = (chat: string, id = '9') =>
      creatorAccessOf(store).isStillAllowed(`discord:${id}`, `discord:${chat}`, 'group');
    expect([await may('-50'), await may('77')]).toEqual([true, false]);
    // 5 may write to the bot, and even in this group.
    expect([await may('-50', '5'), await may('-50', '7')]).toEqual([false, false]);
    const rights = creatorAccessOf(store, { owners: [] });
    expect(await rights.isStillAllowed('discord:9', 'discord:-50', 'group')).toBe(false);
    await store.access.addGrant('discord', 'group', '77');
    expect(await may('77')).toBe(true);
    await store.access.removeGrant('discord', 'group', '77');
    expect(await may('77')).toBe(false);
  });

  it('of a token end with the token, and cover only its own sessions unless it is an admin token', async () => {
    const store = await databases.open();
    const rights = creatorAccessOf(store);
    const friend = await store.access.putToken({ hash: 'h1', name: 'friend', scopes: ['chat'] });
    const admin = await store.access.putToken({ hash: 'h2', name: 'admin', scopes: ['chat', 'admin'] });
    const own = request('m1', { channel: 'http', chatId: 'mine' });
    await store.ledger.accept({ ...own, ownerTokenId: friend.tokenId });
    const may = (tokenId: string, id: string) =>
      rights.isStillAllowed(`token:${tokenId}`, `http:${id}`, 'private');
    expect(await may(friend.tokenId, 'mine')).toBe(true);
    expect(await may(friend.tokenId, 'other')).toBe(false);
    expect(await may(admin.tokenId, 'mine')).toBe(true);
    await store.access.revokeToken(friend.tokenId);
    expect(await may(friend.tokenId, 'mine')).toBe(false);
  });

  it('extend to a private chat linked to one of theirs, as long as both sides have access', async () => {
    const store = await databases.open();
    const from = { address: 'discord:77', place: 'private', userId: 'discord:5' } as const;
    const to = { address: 'telegram:7', place: 'private', userId: 'telegram:7' } as const;
    const may = () => creatorAccessOf(store).isStillAllowed('discord:5', 'telegram:7', 'private');
    expect(await may()).toBe(false);
    await store.surfaces.giveCode('a'.repeat(64), { ...from, session: from.address });
    await store.surfaces.enterCode('a'.repeat(64), to);
    for (const { address, userId } of [from, to])
      await store.surfaces.agree({ address, userId, owner: false });
    // The weakest side decides: no one has let the Telegram user in.
    expect(await may()).toBe(false);
    await store.access.addGrant('telegram', 'dm', '7');
    expect(await may()).toBe(true);
    const rights = creatorAccessOf(store, { allow: [] });
    expect(await rights.isStillAllowed('discord:5', 'telegram:7', 'private')).toBe(false);
    expect(await creatorAccessOf(store).isStillAllowed('discord:6', 'telegram:7', 'private')).toBe(false);
    await store.surfaces.leave('telegram:7');
    expect(await may()).toBe(false);
  });

  it('do not extend to a group by a link', async () => {
    const store = await databases.open();
    const from = { address: 'telegram:5', place: 'private', userId: 'telegram:5' } as const;
    const to = { address: 'telegram:-50', place: 'group', userId: 'telegram:5' } as const;
    await store.surfaces.giveCode('b'.repeat(64), { ...from, session: from.address });
    await store.surfaces.enterCode('b'.repeat(64), to);
    for (const { address, userId } of [from, to])
      await store.surfaces.agree({ address, userId, owner: false });
    const rights = creatorAccessOf(store);
    expect(await rights.isStillAllowed('telegram:5', 'telegram:-50', 'group')).toBe(false);
    expect(await rights.isStillAllowed('telegram:9', 'telegram:-50', 'group')).toBe(true);
  });

  it('do not cross channels, and no other user has any', async () => {
    const rights = creatorAccessOf(await databases.open());
    expect(await rights.isStillAllowed('telegram:5', 'discord:5', 'private')).toBe(false);
    expect(await rights.isStillAllowed('system', 'telegram:5', 'private')).toBe(false);
    expect(await rights.isStillAllowed('http:5', 'http:5', 'private')).toBe(false);
  });

  it("distinguish groups from private chats by id if the channel can, else by a group's grant", async () => {
    const store = await databases.open();
    const rights = creatorAccessOf(store);
    expect(await rights.placeOf('telegram:-100:7')).toBe('group');
    expect(await rights.placeOf('telegram:42')).toBe('private');
    expect(await rights.placeOf('discord:77')).toBe('private');
    await store.access.addGrant('discord', 'group', '77');
    expect(await rights.placeOf('discord:77')).toBe('group');
    expect(await rights.placeOf('discord:77:78')).toBe('group');
    expect(await rights.placeOf('discord:-50')).toBe('group');
    expect(await rights.placeOf('http:notes')).toBe('private');
  });
});
