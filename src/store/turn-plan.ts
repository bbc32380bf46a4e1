/** The plan of a turn: read for the card that shows it, and given up with a turn that ends without running. */
import { cancelPlan } from '../plan.ts';
import type { Plan } from '../plan.ts';
import { cleanJson } from '../lib/json.ts';
import { cardRef } from '../plans.ts';
import type { Sql } from './database.ts';

/** `Ledger.planOf`, by index. */
export async function planOf(sql: Sql, turnId: string): Promise<Plan | undefined> {
  const [row] = await sql<{ doc: Plan }[]>`
    select doc from plan where turn_id = ${turnId} order by created_at desc limit 1`;
  return row?.doc;
}

/** Gives up the turn's open plan, if it has one; true when its card is on a screen and must be brought up to date. */
export async function endPlan(sql: Sql, turnId: string, reason: string): Promise<boolean> {
  const open = await sql<{ id: string; doc: Plan }[]>`
    select id, doc from plan where turn_id = ${turnId} and doc ->> 'state' in ('running', 'paused')`;
  for (const { id, doc } of open) {
    await sql`
      update plan set doc = ${cleanJson(cancelPlan(doc, reason))}::jsonb, updated_at = now() where id = ${id}`;
  }
  const cards = open.map(({ id }) => cardRef(id));
  const shown = cards.length === 0 ? [] : await sql`select from delivery where ref in ${sql(cards)}`;
  return shown.length > 0;
}
