/** Rules that users store with an approval: saved with the decision, one per call, limited per session. */
import { expect, it } from 'vitest';
import { MAX_APPROVAL_RULES } from '../../../src/protocol/agent/approvals.ts';
import { describeStore } from '../../database.ts';
import { startTurn, subject } from './turns.ts';

const KEY = 'telegram:42';

describeStore('a rule', (databases) => {
  async function asked(rule?: string) {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    const detail = { ...subject(`${turnId}.1.0`, { command: 'ls' }), ...(rule !== undefined && { rule }) };
    await store.lanes.park(head, { id: 'q1', turnId, detail, expiresInMs: 60_000 });
    return store;
  }
  const always = { name: 'Ada', always: true };

  it('is stored with an approval, found by its digest only in its session, counted and removed', async () => {
    const { lanes, approvals } = await asked('d1');
    expect(await lanes.decide('q1', 'approved', KEY, always)).toBe(true);
    expect(await approvals.hasRule('telegram:43', 'd1')).toBe(false);
    expect(await approvals.useRule(KEY, 'd2')).toBeUndefined();
    const id = await approvals.useRule(KEY, 'd1');
    expect(await approvals.rules({ session: KEY })).toMatchObject([
      { id, session: KEY, args: { command: 'ls' }, createdBy: KEY, createdName: 'Ada', uses: 1 },
    ]);
    expect(await approvals.removeRule(id ?? '', { session: 'telegram:43' })).toBe(false);
    expect(await approvals.removeRule(id ?? '', { ownerTokenId: 'nobody' })).toBe(false);
    expect(await approvals.removeRule(id ?? '', { session: KEY })).toBe(true);
    expect(await approvals.hasRule(KEY, 'd1')).toBe(false);
  });

  it('is not stored with a denial or for a request that offers none', async () => {
    const denied = await asked('d1');
    expect(await denied.lanes.decide('q1', 'denied', KEY, always)).toBe(true);
    expect(await denied.approvals.rules({})).toEqual([]);
    const none = await asked();
    expect(await none.lanes.decide('q1', 'approved', KEY, always)).toBe(true);
    expect(await none.approvals.rules({})).toEqual([]);
  });

  it.each([
    [MAX_APPROVAL_RULES - 1, true],
    [MAX_APPROVAL_RULES, false],
  ])('with %i others in its session is stored: %s', async (others, stored) => {
    const { sql, lanes, approvals } = await asked('d1');
    await sql`
      insert into approval_rule (id, session, digest, tool, args, user_id, created_by)
      select 'r' || n, ${KEY}, 'other' || n, 'exec', '{}', ${KEY}, ${KEY} from generate_series(1, ${others}) n`;
    expect(await lanes.decide('q1', 'approved', KEY, always)).toBe(true);
    expect(await approvals.hasRule(KEY, 'd1')).toBe(stored);
  });

  it('is deleted with its session', async () => {
    const { lanes, ledger, approvals } = await asked('d1');
    await lanes.decide('q1', 'approved', KEY, always);
    await ledger.deleteSession(KEY);
    expect(await approvals.rules({})).toEqual([]);
  });
});
