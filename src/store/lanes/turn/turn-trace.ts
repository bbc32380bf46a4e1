/** Stores the attempts of a turn: with its end, or alone if it continues later. */
import { cleanJson } from '../../../lib/json/json.ts';
import { MAX_TRACE_ATTEMPTS } from '../../../contracts/store/traces.ts';
import type { TraceAttempt } from '../../../contracts/store/traces.ts';
import type { Sql } from '../../database/database.ts';

/** A further CTE with a leading comma: adds the attempt while the CTE `guard` has its one row. Empty without one. */
export function tracedAttempt(
  sql: Sql,
  turnId: string,
  attempt: TraceAttempt | undefined,
  guard: ReturnType<Sql>,
) {
  return attempt === undefined ? sql`` : sql`, traced as (${addAttempt(sql, turnId, attempt, guard)})`;
}

/** The statement that adds an attempt to those of its turn. */
export function addAttempt(sql: Sql, turnId: string, attempt: TraceAttempt, guard: ReturnType<Sql>) {
  return sql`
    insert into turn_trace as t (turn_id, attempts)
    select ${turnId}, jsonb_build_array(${cleanJson(attempt)}::jsonb) from ${guard}
    on conflict (turn_id) do update set at = now(),
      attempts = case when jsonb_array_length(t.attempts) < ${MAX_TRACE_ATTEMPTS}
        then t.attempts || excluded.attempts else t.attempts end`;
}
