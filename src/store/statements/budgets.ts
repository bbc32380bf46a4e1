/** CTEs that settle reserves of budgets in the statements that store what was used. */
import type { Fragment, Sql } from '../database/database.ts';

/**
 * Settles the reserves of `holders`, a FROM item `s(holder, tokens, micros)`, which end: what was used is spent. With a
 * leading comma.
 */
export function settled(sql: Sql, holders: Fragment): Fragment {
  return sql`,
    settling as (
      delete from budget_hold h using ${holders} where h.holder = s.holder
      returning h.key, case when h.in_tokens then s.tokens else s.micros end as amount)
    ${charged(sql)}`;
}

/** The same in the middle of the work: what was used is spent, and no longer reserved. */
export function settledPart(sql: Sql, holders: Fragment): Fragment {
  return sql`,
    settling as (
      update budget_hold h set amount = greatest(0, h.amount - case when h.in_tokens then s.tokens else s.micros end)
      from ${holders} where h.holder = s.holder
      returning h.key, case when h.in_tokens then s.tokens else s.micros end as amount)
    ${charged(sql)}`;
}

/** Work that is gone counts as it was reserved. A whole statement. */
export function settleGone(sql: Sql, holders: Fragment): Fragment {
  return sql`
    with settling as (delete from budget_hold h where ${holders} returning h.key, h.amount)
    ${charged(sql)}
    select from charged`;
}

/** Rows of budgets are locked in the order of their keys, as every reserve does: no two can wait for each other. */
function charged(sql: Sql): Fragment {
  return sql`,
    due as (select key, sum(amount)::bigint as amount from settling group by key),
    locked as (select b.key from budget b where b.key in (select key from due) order by b.key for update),
    charged as (
      update budget b set spent = b.spent + due.amount
      from locked join due on due.key = locked.key where b.key = locked.key returning b.key)`;
}
