/** The plan of a turn, read for the card that shows it. */
import type { Plan } from '../plan.ts';
import type { Sql } from './database.ts';

/** `Ledger.planOf`, by index. */
export async function planOf(sql: Sql, turnId: string): Promise<Plan | undefined> {
  const [row] = await sql<{ doc: Plan }[]>`
    select doc from plan where turn_id = ${turnId} order by created_at desc limit 1`;
  return row?.doc;
}
