/** What budgets have left: reserves behind the locks of their rows, and the rows themselves. */
import { FencedError } from '../../protocol/errors.ts';
import { BUDGET_DAYS, type BudgetState, type BudgetStore, NEARLY } from '../../protocol/agent/budgets.ts';
import type { UsageNote } from '../../protocol/agent/usage.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { Database, Sql } from '../database/database.ts';
import { settled, settledPart } from '../statements/budgets.ts';
import { usageColumns } from '../tables/usage.ts';
import { holds } from './lane-sql.ts';

/** The `BudgetStore` over a database. */
export function createBudgets(database: Database): BudgetStore {
  return {
    reserve: (work, caps) => database.transaction((sql) => reserve(sql, work, caps)),
    open: (caps) =>
      database.write(
        (sql) => sql`
          insert into budget (key, spent)
          select key, spent from jsonb_to_recordset(${cleanJson(caps)}::jsonb) as c(key text, spent bigint)
          order by key on conflict do nothing`,
      ),
    release: (holder) => database.write((sql) => sql`delete from budget_hold where holder = ${holder}`),
    noteTold: (key) => database.write((sql) => sql`update budget set told = true where key = ${key}`),
    states: async (of) => {
      const rows = await database.rows(
        (sql) => sql<({ key: string } & BudgetState)[]>`
          select key, spent::float8 as spent, more::float8 as more, refused,
            (select coalesce(sum(amount), 0)::float8 from budget_hold h where h.key = b.key) as held
          from budget b
          where ${'keys' in of ? sql`key in (select jsonb_array_elements_text(${cleanJson(of.keys)}::jsonb))` : sql`created_at >= ${of.since.toISOString()}::timestamptz`}
          order by spent desc limit ${'keys' in of ? of.keys.length : of.limit}`,
      );
      return new Map(rows.map(({ key, ...state }) => [key, state]));
    },
    purge: (limit) =>
      database.count(
        (sql) => sql`
          with old as (
            select key from budget where created_at < now() - ${BUDGET_DAYS}::float8 * interval '1 day' limit ${limit}),
          held as (delete from budget_hold where key in (select key from old))
          delete from budget where key in (select key from old) returning key`,
      ),
  };
}

interface BudgetRow extends Omit<BudgetState, 'held'> {
  key: string;
  told: boolean;
}

/**
 * All rows are locked in one order before the reserves of others are added up, which a later statement of the same
 * transaction sees as they are then: of two reserves at once, the second sees the first. The lane is locked before
 * them, as by the end of a turn, so no reserve comes after its turn's end.
 */
async function reserve(
  sql: Sql,
  { holder, fence }: Parameters<BudgetStore['reserve']>[0],
  caps: Parameters<BudgetStore['reserve']>[1],
): ReturnType<BudgetStore['reserve']> {
  if (fence !== undefined) {
    const lane = await sql`select from lane where ${holds(sql, fence)} for share`;
    if (lane.length === 0) throw new FencedError(fence.lane);
  }
  const json = cleanJson(caps);
  const keys = sql`(select key from jsonb_to_recordset(${json}::jsonb) as c(key text))`;
  const rows = await sql<BudgetRow[]>`
    select key, spent::float8 as spent, more::float8 as more, refused, told
    from budget where key in ${keys} order by key for update`;
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const missing = caps.filter(({ key }) => !byKey.has(key));
  if (missing.length > 0) return { kind: 'new', keys: missing.map(({ key }) => key) };
  const reserves = await sql<{ key: string; amount: number }[]>`
    select key, sum(amount)::float8 as amount from budget_hold
    where key in ${keys} and holder <> ${holder} group by key`;
  const reserveOfOthers = new Map(reserves.map((row) => [row.key, row.amount]));
  const nearly: string[] = [];
  for (const { key, limit, amount } of caps) {
    const { told: isTold, ...row } = byKey.get(key)!;
    const state = { ...row, held: reserveOfOthers.get(key) ?? 0 };
    const total = state.spent + state.held + amount;
    if (total > limit + row.more) return { kind: 'refused', key, state };
    if (!isTold && total >= NEARLY * (limit + row.more)) nearly.push(key);
  }
  // What the work held of other caps moves with it: to another day, or to another profile.
  await sql`
    with moved as (delete from budget_hold where holder = ${holder} and key not in ${keys})
    insert into budget_hold (holder, key, in_tokens, amount)
    select ${holder}, key, "inTokens", amount
    from jsonb_to_recordset(${json}::jsonb) as c(key text, "inTokens" boolean, amount bigint)
    on conflict (holder, key) do update set amount = excluded.amount`;
  return { kind: 'held', nearly };
}

/** `Ledger.noteUsage` of work that has reserved for it: stored and settled in one statement. */
export async function noteSettled(database: Database, note: UsageNote): Promise<void> {
  const { turnId = null, session = null, userId = null, tokenId = null, purpose, settles } = note;
  if (settles === undefined) throw new Error('This usage settles nothing.');
  const { holder, tokens, micros } = settles;
  const { model, promptTokens, completionTokens, modelMs } = usageColumns(note);
  await database.write((sql) => {
    const work = sql`(select ${holder}::text as holder, ${tokens}::bigint as tokens, ${micros}::bigint as micros) s`;
    return sql`
      with used as (
        insert into usage (turn_id, session, user_id, token_id, purpose, model, prompt_tokens, completion_tokens, model_ms, estimated)
        values (${turnId}, ${session}, ${userId}, ${tokenId}, ${purpose}, ${model}, ${promptTokens}, ${completionTokens},
          ${modelMs}, ${note.estimated ?? false}))
      ${settles.ends ? settled(sql, work) : settledPart(sql, work)}
      select from charged`;
  });
}
