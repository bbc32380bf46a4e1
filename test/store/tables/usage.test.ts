/** Usage: what is written with turns and by itself, and the sums people and machines read. */
import { expect, it } from 'vitest';
import { MAX_USAGE_GROUPS } from '../../../src/contracts/usage.ts';
import type { UsageNote } from '../../../src/contracts/usage.ts';
import { describeEachDatabase } from '../../database.ts';
import { finished, startTurn } from '../lanes/turns.ts';

const DAY_MS = 86_400_000;
const always = { from: new Date(0), to: new Date(Date.now() + DAY_MS) };

/** A call for a plan that cost `tokens` in all. */
function note(tokens: number, more: Partial<UsageNote> = {}): UsageNote {
  const spent = { promptTokens: tokens - 1, completionTokens: 1, modelMs: 10 };
  return {
    purpose: 'plan',
    session: 'telegram:42',
    userId: 'telegram:42',
    model: 'small',
    ...spent,
    ...more,
  };
}

describeEachDatabase('usage', (databases) => {
  it('keeps one row a model of a turn, with its user, and adds them up with the turn’s other rows', async () => {
    const store = await databases.open();
    const { turnId, head } = await startTurn(store);
    const usage = [
      { model: 'small', promptTokens: 10, completionTokens: 5, modelMs: 7 },
      { model: 'big', promptTokens: 100, completionTokens: 50, modelMs: 70, estimated: true as const },
    ];
    await store.ledger.finishTurn(head, finished(turnId, 'hi', { usage }));
    await store.ledger.noteUsage(note(1_001, { turnId }));
    const rows =
      await store.sql`select turn_id, session, user_id, purpose, model, estimated from usage order by id`;
    const row = { turn_id: turnId, session: 'telegram:42', user_id: 'telegram:42', estimated: false };
    expect([...rows]).toEqual([
      { ...row, purpose: 'turn', model: 'small' },
      { ...row, purpose: 'turn', model: 'big', estimated: true },
      { ...row, purpose: 'plan', model: 'small' },
    ]);
    const sum = { promptTokens: 1_110, completionTokens: 56, modelMs: 87, estimated: true };
    expect((await store.ledger.turn(turnId))?.usage).toEqual(sum);
    expect(await store.usage.sum(always)).toEqual({ ...sum, answers: 1 });
  });

  it('sums no rows to zero', async () => {
    const { usage } = await databases.open();
    const none = { promptTokens: 0, completionTokens: 0, modelMs: 0, answers: 0, estimated: false };
    expect(await usage.sum(always)).toEqual(none);
    expect(await usage.groups(always, 'day')).toEqual({ groups: [], more: false });
  });

  it('groups by day, session, user, channel, model and purpose, each only within its time', async () => {
    const { ledger, usage, sql } = await databases.open();
    await ledger.noteUsage(note(100));
    await ledger.noteUsage(note(20, { session: 'http:a', userId: 'token:a', model: 'big', purpose: 'turn' }));
    await ledger.noteUsage(
      note(3, { session: undefined, userId: 'token:a', tokenId: 'a', purpose: 'stateless' }),
    );
    await sql`update usage set at = '2026-01-31 23:59:59Z' where model = 'big'`;
    await sql`update usage set at = '2026-02-01 00:00:00Z' where model = 'small'`;
    const tokensBy = async (by: Parameters<typeof usage.groups>[1], query = always) =>
      (await usage.groups(query, by)).groups.map((group) => [
        group.key,
        group.promptTokens + group.completionTokens,
      ]);
    expect(await tokensBy('day')).toEqual([
      ['2026-01-31', 20],
      ['2026-02-01', 103],
    ]);
    expect(await tokensBy('session')).toEqual([
      ['telegram:42', 100],
      ['http:a', 20],
      ['', 3],
    ]);
    expect(await tokensBy('user')).toEqual([
      ['telegram:42', 100],
      ['token:a', 23],
    ]);
    expect(await tokensBy('channel')).toEqual([
      ['telegram', 100],
      ['http', 20],
      ['', 3],
    ]);
    expect(await tokensBy('model')).toEqual([
      ['small', 103],
      ['big', 20],
    ]);
    expect(await tokensBy('purpose')).toEqual([
      ['plan', 100],
      ['turn', 20],
      ['stateless', 3],
    ]);
    const february = { ...always, from: new Date('2026-02-01T00:00:00Z') };
    expect(await tokensBy('user', february)).toEqual([
      ['telegram:42', 100],
      ['token:a', 3],
    ]);
    const own = { ...always, userId: 'token:a' };
    expect(await tokensBy('model', own)).toEqual([
      ['big', 20],
      ['small', 3],
    ]);
    expect(await usage.sum({ ...always, session: 'http:a' })).toMatchObject({ promptTokens: 19, answers: 1 });
  });

  it(`gives the ${MAX_USAGE_GROUPS} groups with the most tokens, and says that there are more`, async () => {
    const { usage, sql } = await databases.open();
    await sql`
      insert into usage (session, model, prompt_tokens, completion_tokens, model_ms)
      select 'telegram:' || n, 'small', n, 0, 0 from generate_series(0, ${MAX_USAGE_GROUPS}) n`;
    const { groups, more } = await usage.groups(always, 'session');
    expect(groups).toHaveLength(MAX_USAGE_GROUPS);
    expect(groups[0]?.key).toBe(`telegram:${MAX_USAGE_GROUPS}`);
    expect(more).toBe(true);
  });
});
