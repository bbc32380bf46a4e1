/** Turns of a session shared by several chats, in the store: whose lanes get the answer, whatever has changed since. */
import { expect, it } from 'vitest';
import { type SurfaceEnd, surfaceRef } from '../../../src/protocol/sessions/surfaces.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import type { Address } from '../../../src/protocol/message.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { delivery, finished, startTurn } from '../lanes/turns.ts';

const HOME = 'telegram:42';
const CONTENT = 'The answer.';
const message = { content: CONTENT, media: [], buttons: [] };

describeStore('the answer of a shared session', (databases) => {
  let codes = 0;
  const join = async (
    { surfaces }: TestStore,
    address: Address,
    place: SurfaceEnd['place'] = 'private',
  ): Promise<void> => {
    codes += 1;
    const hash = String(codes).padStart(64, 'e');
    const [from, to] = [HOME, address].map((one) => ({
      address: one as Address,
      place: 'private' as const,
      userId: one,
    }));
    if (from === undefined || to === undefined) return;
    await surfaces.giveCode(hash, { ...from, session: HOME });
    await surfaces.enterCode(hash, { ...to, place });
    for (const { userId } of [from, to])
      await surfaces.agree({ address: userId as Address, userId, owner: false });
  };
  const queued = async ({ sql }: TestStore, turnId: string): Promise<{ lane: string; ref: string }[]> => [
    ...(await sql<{ lane: string; ref: string }[]>`
      select lane, payload ->> 'ref' as ref from lane_item
      where lane like 'out:%' and dedupe = ${turnId} order by lane`),
  ];
  const end = async (
    store: TestStore,
    { head, turnId }: { head: LaneHead; turnId: string },
    elsewhere: { groups?: Address[]; shownOn?: { address: Address; separated: string }[] } = {},
  ): Promise<void> => {
    const outbound = delivery(turnId, HOME, CONTENT);
    const shownOn = elsewhere.shownOn ?? [];
    await store.ledger.finishTurn(
      head,
      finished(turnId, CONTENT, { outbound, elsewhere: { message, ...elsewhere, shownOn } }),
    );
  };
  const at = (turnId: string, address: Address) => ({
    lane: `out:${address}`,
    ref: address === HOME ? turnId : surfaceRef(turnId, address),
  });

  it('is queued only for its own chat when no one shares the session', async () => {
    const store = await databases.open();
    const turn = await startTurn(store);
    await end(store, turn);
    expect(await queued(store, turn.turnId)).toEqual([at(turn.turnId, HOME)]);
  });

  it('is queued for a chat that joined after the turn had opened without others', async () => {
    const store = await databases.open();
    const turn = await startTurn(store);
    const opened = await store.ledger.openTurn(turn.head, turn.turnId, 50);
    expect(opened).toMatchObject({ surfaces: [] });
    await join(store, 'discord:7');
    await end(store, turn);
    expect(await queued(store, turn.turnId)).toEqual([at(turn.turnId, 'discord:7'), at(turn.turnId, HOME)]);
    const [row] = await store.sql<{ message: unknown }[]>`
      select payload -> 'message' as message from lane_item where lane = 'out:discord:7' and dedupe = ${turn.turnId}`;
    expect(row?.message).toEqual({ ...message, channel: 'discord', chatId: '7' });
  });

  it('is not queued for a group that joined in the meantime, which does not read that turn', async () => {
    const store = await databases.open();
    const turn = await startTurn(store);
    await join(store, 'telegram:-7', 'group');
    await end(store, turn, { groups: [] });
    expect(await queued(store, turn.turnId)).toEqual([at(turn.turnId, HOME)]);
  });

  it('is not queued for a chat that left, which is notified if part of the answer is on its screen', async () => {
    const store = await databases.open();
    await join(store, 'discord:8');
    await join(store, 'discord:9');
    const turn = await startTurn(store);
    const shown: Address[] = ['discord:8', 'discord:9'];
    await store.sql`insert into delivery (ref, parts) values (${surfaceRef(turn.turnId, 'discord:9')}, '[]')`;
    for (const address of shown) await store.surfaces.leave(address);
    await end(store, turn, {
      shownOn: shown.map((address) => ({ address, separated: `${address} was separated.` })),
    });
    expect(await queued(store, turn.turnId)).toEqual([at(turn.turnId, 'discord:9'), at(turn.turnId, HOME)]);
    const [row] = await store.sql<{ text: string }[]>`
      select payload -> 'message' ->> 'content' as text from lane_item
      where lane = 'out:discord:9' and dedupe = ${turn.turnId}`;
    expect(row?.text).toBe('discord:9 was separated.');
  });

  it('is queued nowhere by a node that lost the lane, and once however often it is committed', async () => {
    const store = await databases.open();
    await join(store, 'discord:10');
    const turn = await startTurn(store);
    const stale = { ...turn, head: { ...turn.head, epoch: turn.head.epoch - 1 } };
    await expect(end(store, stale)).rejects.toMatchObject({ code: 'fenced' });
    expect(await queued(store, turn.turnId)).toEqual([]);
    await end(store, turn);
    await end(store, turn);
    expect(await queued(store, turn.turnId)).toHaveLength(2);
  });
});
