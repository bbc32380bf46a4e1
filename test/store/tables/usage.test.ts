/** Usage: what is written with turns and separately, and the sums that users and programs read. */
import { expect, it } from 'vitest';
import { ADDED_UP_ROWS, MAX_USAGE_GROUPS, type UsageNote } from '../../../src/protocol/agent/usage.ts';
import { MIN_ADDED_ROWS } from '../../../src/store/statements/usage.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { finished, startTurn } from '../lanes/turns.ts';

const DAY_MS = 86_400_000;
const always = { from: new Date(0), to: new Date(Date.now() + DAY_MS) };

/** A call for a plan that cost `tokens` in total. */
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

describeStore('usage', (databases) => {
  it('keeps one row per model of a turn, with its user, and adds them up with the turn’s other rows', async () => {
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

  it('groups by day, session, user, channel, model and purpose, each only within its time range', async () => {
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

  it(`returns the ${MAX_USAGE_GROUPS} groups with the most tokens, and says that there are more`, async () => {
    const { usage, sql } = await databases.open();
    await sql`
      insert into usage (session, model, prompt_tokens, completion_tokens, model_ms)
      select 'telegram:' || n, 'small', n, 0, 0 from generate_series(0, ${MAX_USAGE_GROUPS}) n`;
    const { groups, more } = await usage.groups(always, 'session');
    expect(groups).toHaveLength(MAX_USAGE_GROUPS);
    expect(groups[0]?.key).toBe(`telegram:${MAX_USAGE_GROUPS}`);
    expect(more).toBe(true);
  });

  /** 24,000 turns over the last 20 days, one row each. */
  const fill = async ({ sql }: Pick<TestStore, 'sql'>): Promise<void> => {
    await sql`
      insert into usage (turn_id, session, user_id, purpose, model, prompt_tokens, completion_tokens, model_ms, at)
      select 'turn-' || n, 'http:a', 'token:' || n % 3, 'turn', 'small', 10, 1, 5, now() - n % 480 * interval '1 hour'
      from generate_series(1, 24000) n`;
  };
  const addAll = async ({ usage }: Pick<TestStore, 'usage'>): Promise<number[]> => {
    const added = [await usage.addUp()];
    while (added.at(-1) !== 0) added.push(await usage.addUp());
    return added;
  };

  it('adds rows up batch by batch, and each report is the same before, during and after', async () => {
    const store = await databases.open();
    const { usage, ledger, sql } = store;
    await fill(store);
    // A call of a turn that already has its row, and one the gateway made for itself: no further answers.
    await ledger.noteUsage(note(500, { turnId: 'turn-1', estimated: true }));
    await ledger.noteUsage(note(500, { turnId: 'turn-9', purpose: 'title' }));
    const [begin] = await sql<{ at: Date }[]>`select now() - interval '100 hours 20 minutes' as at`;
    const queries = [
      always,
      { from: begin?.at ?? new Date(), to: new Date(Date.now() - 1_234_567) },
      { ...always, userId: 'token:1' },
      { ...always, userId: 'token:1', from: begin?.at ?? new Date() },
      { from: new Date(Date.now() - 60_000), to: new Date(Date.now() - 30_000) },
    ];
    const read = () =>
      Promise.all(queries.map(async (query) => [await usage.sum(query), await usage.groups(query, 'day')]));
    const before = await read();
    expect(before[0]?.[0]).toEqual({
      promptTokens: 240_998,
      completionTokens: 24_002,
      modelMs: 120_020,
      answers: 24_000,
      estimated: true,
    });
    expect(await usage.addUp()).toBe(ADDED_UP_ROWS);
    expect(await read()).toEqual(before);
    expect(await addAll(store)).toEqual([ADDED_UP_ROWS, 4_002, 0]);
    expect(await read()).toEqual(before);
    // Later rows count too, even with an older time.
    await ledger.noteUsage(note(1_000_001, { turnId: 'new' }));
    await sql`update usage set at = now() - interval '3 days' where turn_id = 'new'`;
    expect((await usage.sum(always)).promptTokens).toBe(240_998 + 1_000_000);
  });

  it('reads no rows of hours that are already added up', async () => {
    const store = await databases.open();
    await fill(store);
    await addAll(store);
    const read = async (ask: () => Promise<unknown>): Promise<number> => {
      const tuples = async (): Promise<number> => {
        await store.sql`select pg_stat_force_next_flush()`;
        await store.sql`select pg_stat_clear_snapshot()`;
        const [row] = await store.sql<{ read: number }[]>`
          select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables
          where relname = 'usage' and schemaname = ${store.place.schema}`;
        return row?.read ?? 0;
      };
      const begun = await tuples();
      await ask();
      return (await tuples()) - begun;
    };
    const month = { from: new Date(Date.now() - 30 * DAY_MS), to: new Date() };
    expect(await read(() => store.usage.groups(month, 'day'))).toBeLessThan(500);
    expect(await read(() => store.usage.sum({ ...month, userId: 'token:1' }))).toBeLessThan(500);
  });

  it(`leaves fewer than ${MIN_ADDED_ROWS} new rows as they are`, async () => {
    const { usage, sql } = await databases.open();
    const add = (count: number) => sql`
      insert into usage (model, prompt_tokens, completion_tokens, model_ms)
      select 'small', 1, 0, 0 from generate_series(1, ${count})`;
    await add(MIN_ADDED_ROWS - 1);
    expect(await usage.addUp()).toBe(0);
    await add(1);
    expect(await usage.addUp()).toBe(MIN_ADDED_ROWS);
    expect(await usage.sum(always)).toMatchObject({ promptTokens: MIN_ADDED_ROWS, answers: MIN_ADDED_ROWS });
  });

  it('loses no row that is committed late, and drops a deleted user’s sums', async () => {
    const store = await databases.open();
    const { usage, sql, people } = store;
    await fill(store);
    await sql`update usage set user_id = 'telegram:7' where user_id = 'token:0'`;
    const [, late] = await Promise.all([
      addAll(store),
      sql.begin(async (held) => {
        await held`insert into usage (model, prompt_tokens, completion_tokens, model_ms) values ('late', 7, 0, 0)`;
        await held`select pg_sleep(0.05)`;
        return true;
      }),
    ]);
    expect(late).toBe(true);
    await addAll(store);
    expect((await usage.sum(always)).promptTokens).toBe(240_007);
    await people.forgetPerson({ channel: 'telegram', id: '7' }, { sessions: [], fileDays: 30 });
    const rows = await sql`select from usage_sum where user_id = 'telegram:7'`;
    expect(rows).toHaveLength(0);
    expect((await usage.sum(always)).promptTokens).toBe(240_007);
    expect((await usage.sum({ ...always, userId: 'telegram:7' })).promptTokens).toBe(0);
  });
});
