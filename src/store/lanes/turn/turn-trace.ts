/** Stores the attempts of turns: with their end, or alone if a turn continues later. */
import { MAX_TRACE_ATTEMPTS } from '../../../protocol/store/traces.ts';
import type { Sql } from '../../database/database.ts';

/** The statement that adds attempts to those of their turns: `turns` is a FROM item `t` with `turn_id` and `trace`, which may be null. */
export function addAttempts(sql: Sql, turns: ReturnType<Sql>) {
  return sql`
    insert into turn_trace as stored (turn_id, attempts)
    select t.turn_id, jsonb_build_array(t.trace) from ${turns} where t.trace is not null
    on conflict (turn_id) do update set at = now(),
      attempts = case when jsonb_array_length(stored.attempts) < ${MAX_TRACE_ATTEMPTS}
        then stored.attempts || excluded.attempts else stored.attempts end`;
}
