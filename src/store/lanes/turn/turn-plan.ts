/** The plan of a turn: read for its card, and cancelled when its turn ends without running. */
import { cleanJson } from '../../../lib/json/json.ts';
import { cancelPlan, type CancelReason, type Plan } from '../../../protocol/agent/plan.ts';
import { cardRef } from '../../../protocol/agent/plan-store.ts';
import type { Sql } from '../../database/database.ts';

/** `Ledger.planOf`, by index. */
export async function planOf(sql: Sql, turnId: string): Promise<Plan | undefined> {
  const [row] = await sql<{ doc: Plan }[]>`
    select doc from plan where turn_id = ${turnId} order by created_at desc limit 1`;
  return row?.doc;
}

/** Cancels the open plans of turns; returns the turns whose card is on screen and must be updated. */
export async function endPlans(
  sql: Sql,
  turnIds: readonly string[],
  because: CancelReason,
): Promise<ReadonlySet<string>> {
  if (turnIds.length === 0) return new Set();
  const open = await sql<{ id: string; turnId: string; doc: Plan }[]>`
    select id, turn_id as "turnId", doc from plan
    where turn_id in ${sql([...turnIds])} and doc ->> 'state' in ('running', 'paused')`;
  if (open.length === 0) return new Set();
  for (const { id, doc } of open) {
    await sql`
      update plan set doc = ${cleanJson(cancelPlan(doc, because.reason, because.why))}::jsonb, updated_at = now() where id = ${id}`;
  }
  const cards = await sql<{ ref: string }[]>`
    select ref from delivery where ref in ${sql(open.map(({ id }) => cardRef(id)))}`;
  const shown = new Set(cards.map(({ ref }) => ref));
  return new Set(open.filter(({ id }) => shown.has(cardRef(id))).map(({ turnId }) => turnId));
}
