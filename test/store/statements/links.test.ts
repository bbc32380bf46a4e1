/** Chats that share a session, in the store: a code is entered once, both sides agree, and leaving restores the past. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  LINK_TRIES,
  MAX_EARLIER_SESSIONS,
  MAX_SURFACES,
  type SurfaceEnd,
} from '../../../src/protocol/sessions/surfaces.ts';
import type { AcceptResult } from '../../../src/protocol/store/accept.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';

let count = 0;
/** A separate chat for each test, and a unique code. */
const chat = (place: SurfaceEnd['place'] = 'private'): SurfaceEnd => {
  count += 1;
  return { address: `telegram:${9_000 + count}`, place, name: 'Ada', userId: `telegram:${9_000 + count}` };
};
const code = (): string => {
  count += 1;
  return String(count).padStart(64, 'a');
};

const turnOf = (result: AcceptResult): string => ('turnId' in result ? result.turnId : '');

const yes = ({ address, userId }: SurfaceEnd) => ({ address, userId, owner: false });

async function link(
  { surfaces }: TestStore,
  from: SurfaceEnd,
  to: SurfaceEnd,
  session = from.address,
): Promise<void> {
  const hash = code();
  await surfaces.giveCode(hash, { ...from, session });
  expect(await surfaces.enterCode(hash, to)).toMatchObject({ kind: 'asked', again: false });
  await surfaces.agree(yes(to));
  expect(await surfaces.agree(yes(from))).toMatchObject({ kind: 'joined', session });
}

describeStore('linked chats', (databases) => {
  it('joins only after both have agreed, in either order, and by no one else', async () => {
    const store = await databases.open();
    const [from, to] = [chat(), chat()];
    const hash = code();
    await store.surfaces.giveCode(hash, { ...from, session: from.address });
    await store.surfaces.enterCode(hash, to);
    const other = { address: to.address, userId: 'telegram:1', owner: false };
    expect(await store.surfaces.agree(other)).toEqual({ kind: 'forbidden' });
    expect(await store.surfaces.agree(yes(from))).toMatchObject({ kind: 'waiting' });
    expect(await store.ledger.sessionOf(to.address)).toBe(to.address);
    expect(await store.surfaces.agree(yes(to))).toMatchObject({ kind: 'joined' });
    expect(await store.ledger.sessionOf(to.address)).toBe(from.address);
    expect(await store.surfaces.agree(yes(to))).toEqual({ kind: 'none' });
    expect(await store.surfaces.enterCode(hash, chat())).toEqual({ kind: 'used' });
  });

  it('accepts a code in one chat only, even when several enter it at once', async () => {
    const store = await databases.open();
    const from = chat();
    const hash = code();
    await store.surfaces.giveCode(hash, { ...from, session: from.address });
    const entered = await Promise.all(
      [chat(), chat(), chat()].map((to) => store.surfaces.enterCode(hash, to)),
    );
    expect(entered.map(({ kind }) => kind).toSorted()).toEqual(['asked', 'used', 'used']);
  });

  it('rejects a chat’s earlier codes and expired ones, and codes entered in the chat itself', async () => {
    const store = await databases.open();
    const from = chat();
    const [old, fresh] = [code(), code()];
    await store.surfaces.giveCode(old, { ...from, session: from.address });
    await store.surfaces.giveCode(fresh, { ...from, session: from.address });
    expect(await store.surfaces.enterCode(old, chat())).toEqual({ kind: 'expired' });
    expect(await store.surfaces.enterCode(fresh, from)).toEqual({ kind: 'same' });
    await store.sql`update link set expires_at = now() where hash = ${fresh}`;
    expect(await store.surfaces.enterCode(fresh, chat())).toEqual({ kind: 'expired' });
  });

  it('counts a user’s wrong codes wherever they are typed, and a chat’s whoever types them', async () => {
    const store = await databases.open();
    const person = chat();
    for (let left = LINK_TRIES.person - 1; left > 0; left -= 1) {
      const elsewhere = { ...person, address: chat().address };
      expect(await store.surfaces.enterCode('no', elsewhere)).toEqual({ kind: 'unknown', triesLeft: left });
    }
    expect(await store.surfaces.enterCode('no', person)).toMatchObject({ kind: 'limited', reached: true });
    const hash = code();
    const from = chat();
    await store.surfaces.giveCode(hash, { ...from, session: from.address });
    expect(await store.surfaces.enterCode(hash, person)).toMatchObject({ kind: 'limited', reached: false });
    const group = chat('group');
    for (let n = 0; n < LINK_TRIES.chat; n += 1)
      await store.surfaces.enterCode('no', { ...group, userId: chat().userId });
    const member = { ...group, userId: chat().userId };
    expect(await store.surfaces.enterCode('no', member)).toMatchObject({ kind: 'limited' });
    await store.sql`delete from link_try`;
    expect(await store.surfaces.enterCode(hash, person)).toMatchObject({ kind: 'asked' });
  });

  it('lets a right code in, however many wrong ones others have typed, in the same chat too', async () => {
    const store = await databases.open();
    const group = chat('group');
    for (let n = 0; n < LINK_TRIES.total + 1; n += 1)
      await store.surfaces.enterCode('no', { ...group, userId: chat().userId });
    const [hash, from] = [code(), chat()];
    await store.surfaces.giveCode(hash, { ...from, session: from.address });
    const member = { ...group, userId: chat().userId };
    // Everyone still has no more than their own tries.
    for (let n = 0; n < LINK_TRIES.person - 1; n += 1)
      expect(await store.surfaces.enterCode('no', member)).toMatchObject({ kind: 'limited' });
    expect(await store.surfaces.enterCode(hash, { ...group, userId: chat().userId })).toMatchObject({
      kind: 'asked',
    });
    await store.surfaces.enterCode('no', member);
    expect(await store.surfaces.enterCode(hash, member)).toMatchObject({ kind: 'limited' });
  });

  it('accepts a limited number of chats', async () => {
    const store = await databases.open();
    const from = chat();
    for (let n = 1; n < MAX_SURFACES; n += 1) await link(store, from, chat());
    expect(await store.surfaces.surfaces(from.address)).toHaveLength(MAX_SURFACES);
    expect(await store.surfaces.giveCode(code(), { ...from, session: from.address })).toBeUndefined();
  });

  it('gives every chat its own conversation back, in whatever order they join and leave', async () => {
    const store = await databases.open();
    const orders = fc.array(fc.record({ leaves: fc.boolean(), which: fc.nat({ max: 3 }) }), {
      maxLength: 10,
    });
    await fc.assert(
      fc.asyncProperty(orders, async (steps) => {
        const home = chat();
        const others = [chat(), chat(), chat(), chat()];
        const inside = new Set<SurfaceEnd>();
        for (const { leaves, which } of steps) {
          const other = others[which];
          if (other === undefined) continue;
          if (!leaves && !inside.has(other)) {
            await link(store, home, other);
            inside.add(other);
          } else if (leaves) {
            await store.surfaces.leave(other.address);
            inside.delete(other);
          }
          for (const one of others)
            expect(await store.ledger.sessionOf(one.address)).toBe(
              inside.has(one) ? home.address : one.address,
            );
          const listed = await store.surfaces.surfaces(home.address);
          expect(listed).toHaveLength(inside.size === 0 ? 0 : inside.size + 1);
        }
      }),
      { numRuns: 8 },
    );
  });

  it('lets the first chat start over when it leaves, while the others continue', async () => {
    const store = await databases.open();
    const [home, second, third] = [chat(), chat(), chat()];
    await link(store, home, second);
    await link(store, home, third);
    expect(await store.surfaces.leave(home.address)).toMatchObject({ session: home.address });
    expect(await store.ledger.sessionOf(home.address)).toMatch(new RegExp(`^${home.address}~[0-9a-f]{8}$`));
    expect(await store.ledger.sessionOf(second.address)).toBe(home.address);
    expect(await store.ledger.sessionOf(third.address)).toBe(home.address);
  });

  it('accepts a message once, even when its platform repeats it after its chat has joined or left others', async () => {
    const store = await databases.open();
    const [home, guest] = [chat(), chat()];
    const says = (id: string) =>
      store.ledger.accept(request(id, { chatId: guest.address.slice('telegram:'.length) }));
    const alone = await says('before');
    await link(store, home, guest);
    expect(await says('before')).toMatchObject({ kind: 'duplicate', turnId: turnOf(alone) });
    const shared = await says('within');
    expect(shared).toMatchObject({ kind: 'accepted', session: home.address });
    await store.surfaces.leave(guest.address);
    expect(await says('within')).toMatchObject({ kind: 'duplicate', turnId: turnOf(shared) });
    await link(store, chat(), guest);
    for (const [id, first] of [['before', alone] as const, ['within', shared] as const])
      expect(await says(id)).toMatchObject({ kind: 'duplicate', turnId: turnOf(first) });
    expect(await says('new')).toMatchObject({ kind: 'accepted' });
  });

  it('accepts a message once, even when the chat that shared its conversation has started another', async () => {
    const store = await databases.open();
    const [home, guest, third] = [chat(), chat(), chat()];
    const says = () =>
      store.ledger.accept(request('one', { chatId: home.address.slice('telegram:'.length) }));
    const first = await says();
    await link(store, home, guest);
    await link(store, home, third);
    await store.surfaces.leave(home.address);
    expect(await says()).toMatchObject({ kind: 'duplicate', turnId: turnOf(first) });
  });

  it('remembers a limited number of a chat’s last conversations', async () => {
    const store = await databases.open();
    const guest = chat();
    for (let n = 0; n < MAX_EARLIER_SESSIONS + 2; n += 1) {
      await link(store, chat(), guest);
      await store.surfaces.leave(guest.address);
    }
    const [row] = await store.sql<{ earlier: string[] }[]>`
      select earlier from address where key = ${guest.address}`;
    expect(row?.earlier).toHaveLength(MAX_EARLIER_SESSIONS);
    expect(row?.earlier[0]).toBe(`telegram:${9_000 + count - 1}`);
  });
});
