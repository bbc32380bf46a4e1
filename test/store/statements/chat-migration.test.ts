/** What a chat keeps when its platform changes its id. */
import { expect, it } from 'vitest';
import { createFollowChatMigration } from '../../../src/intake/membership.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { intakeContext } from '../../fakes/gateway/intake.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';
import { keepDue } from '../../schedule/scenario.ts';
import { request } from '../requests.ts';
import { accepted } from '../lanes/turns.ts';

const MOVE = { channel: 'telegram', from: '-50', to: '-1005000' };

/** A group that has access, a conversation and a schedule. */
async function openGroup(store: TestStore): Promise<void> {
  await store.access.addGrant('telegram', 'group', '-50');
  accepted(await store.ledger.accept(request('m1', { chatId: '-50', place: 'group' })));
  await keepDue(store, { session: 'telegram:-50', address: 'telegram:-50', place: 'group' });
}

describeStore('a chat that moves', (databases) => {
  it('keeps its grant, its conversation and its schedules, and is moved once', async () => {
    const store = await databases.open();
    await openGroup(store);
    expect(await store.moves.moveChat(MOVE, false)).toBe(true);
    expect(await store.moves.moveChat(MOVE, false)).toBe(false);
    expect(await store.access.hasGrant('telegram', 'group', '-1005000')).toBe(true);
    const next = accepted(await store.ledger.accept(request('m2', { chatId: '-1005000', place: 'group' })));
    expect(next).toMatchObject({ session: 'telegram:-50', laneSeq: 2 });
    expect(await store.schedules.schedule('news')).toMatchObject({
      session: 'telegram:-50',
      address: 'telegram:-1005000',
    });
    // And again: the session still belongs to the first one.
    expect(await store.moves.moveChat({ ...MOVE, from: '-1005000', to: '-1006000' }, false)).toBe(true);
    expect(await store.ledger.sessionOf('telegram:-1006000')).toBe('telegram:-50');
  });

  it('moves nothing from a chat without a grant, and overwrites no conversation', async () => {
    const store = await databases.open();
    expect(await store.moves.moveChat(MOVE, false)).toBe(false);
    expect(await store.access.hasGrant('telegram', 'group', '-1005000')).toBe(false);
    accepted(await store.ledger.accept(request('m1', { chatId: '-1005000', place: 'group' })));
    await openGroup(store);
    expect(await store.moves.moveChat(MOVE, false)).toBe(true);
    expect(await store.ledger.sessionOf('telegram:-1005000')).toBe('telegram:-1005000');
  });

  it('keeps a grant from the configuration, and logs that the id must be changed there', async () => {
    const store = await databases.open();
    const lines: string[] = [];
    const rules = { dm: 'pairing' as const, allow: [], owners: [], groups: { '-50': { mention: false } } };
    const deps = { ...intakeContext(store), store, log: testLog(lines) };
    const follow = createFollowChatMigration(deps, () => rules);
    await follow(MOVE);
    await follow(MOVE);
    expect(await store.access.hasGrant('telegram', 'group', '-1005000')).toBe(true);
    expect(
      lines.filter((line) => line.includes('Replace the old id in access.telegram.groups')),
    ).toHaveLength(1);
  });
});
