/** Rows of `usage` as part of the statement that ends the work they were spent on. */
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import type { ModelUsage, UsagePurpose } from '../../../protocol/agent/usage.ts';
import type { Sql } from '../../database/database.ts';
import { usageColumns } from '../../tables/usage.ts';

export interface Spent {
  turnId: string;
  session: string;
  userId: string;
  purpose: UsagePurpose;
  usage: readonly ModelUsage[];
}

/** A further CTE with a leading comma: one row per model while the CTE `guard` has its one row. Empty if no model was reached. */
export function usageRows(
  sql: Sql,
  { turnId, session, userId, purpose, usage }: Spent,
  guard: ReturnType<Sql>,
) {
  if (usage.length === 0) return sql``;
  return sql`, used as (${insertUsage(
    sql,
    sql`(select ${turnId} as turn_id, ${session} as session, ${cleanText(userId)} as user_id,
      ${cleanJson(usageRecords(usage))}::jsonb as usage from ${guard}) t`,
    purpose,
  )})`;
}

/** The body of a CTE that stores the usage of turns, or of other work: a FROM item `t`. */
export function insertUsage(sql: Sql, turns: ReturnType<Sql>, purpose: UsagePurpose) {
  return sql`
    insert into usage (turn_id, session, user_id, purpose, model, prompt_tokens, completion_tokens, model_ms, estimated)
    select t.turn_id, t.session, t.user_id, ${purpose}, u.model, u."promptTokens", u."completionTokens",
      u."modelMs", u.estimated
    from ${turns}, jsonb_to_recordset(t.usage)
      as u(model text, "promptTokens" int, "completionTokens" int, "modelMs" int, estimated boolean)`;
}

/** Usage as `insertUsage` reads it. */
export function usageRecords(usage: readonly ModelUsage[]) {
  return usage.map((spent) => ({ ...usageColumns(spent), estimated: spent.estimated ?? false }));
}
