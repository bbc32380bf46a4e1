/** Journals of turns as people view them later: a bounded page, read by index. */
import {
  type JournalPage,
  MAX_WORK_FACTS,
  MAX_WORK_ROWS,
  MAX_WORK_TOKENS,
  type WorkApproval,
  type WorkFact,
  type WorkStore,
} from '../../../protocol/sessions/turn-work.ts';
import { MAX_LISTED_APPROVALS } from '../../../protocol/agent/approvals.ts';
import type { ContextRecord } from '../../../protocol/store/records.ts';
import type { Database, Sql } from '../../database/database.ts';

/** The `WorkStore` over a database. */
export function createJournals(database: Database): WorkStore {
  return { journals: (ids) => database.run((sql) => journals(sql, ids)) };
}

interface PageRow {
  rows: ContextRecord[];
  approvals: WorkApproval[];
  facts: WorkFact[];
  cut: string[];
}

async function journals(sql: Sql, ids: readonly string[]): Promise<JournalPage> {
  if (ids.length === 0) return { rows: [], approvals: [], facts: [], cut: new Set() };
  const asked = sql`select jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb)`;
  const [row] = await sql<PageRow[]>`
    with newest as (
      select c.seq, c.turn_id, c.iteration, c.tokens from context c
      where c.turn_id in (${asked}) and c.kind in ('assistant', 'tool_result', 'agent_result')
      order by c.seq desc limit ${MAX_WORK_ROWS + 1}),
    counted as (
      select *, row_number() over newer as place, sum(tokens) over newer as total from newest
      window newer as (order by seq desc rows unbounded preceding)),
    fitting as (
      select * from counted where place <= ${MAX_WORK_ROWS} and total <= ${MAX_WORK_TOKENS})
    select
      (select coalesce(jsonb_agg(jsonb_build_object('seq', c.seq, 'turnId', c.turn_id, 'iteration', c.iteration,
          'entry', c.payload, 'tokens', c.tokens) order by c.seq), '[]')
        from fitting join context c on c.seq = fitting.seq) as rows,
      (select coalesce(jsonb_agg(distinct turn_id), '[]')
        from counted where place > ${MAX_WORK_ROWS} or total > ${MAX_WORK_TOKENS}) as cut,
      (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'turnId', turn_id, 'toolCallId', detail ->> 'toolCallId',
          'agentId', detail ->> 'agentId', 'warning', detail ->> 'warning', 'state', state,
          'decidedBy', decided_by, 'decidedName', decided_name, 'decidedAt', decided_at, 'reason', reason) order by created_at), '[]')
        from (select * from approval where turn_id in (${asked}) and detail -> 'plan' is null
          order by created_at desc limit ${MAX_LISTED_APPROVALS}) asked) as approvals,
      (select coalesce(jsonb_agg(jsonb_build_object('turnId', turn_id, 'fact', payload -> 'fact') order by seq), '[]')
        from (select c.seq, c.turn_id, c.payload from context c
          where c.turn_id in (${asked}) and c.kind = 'plan_fact'
            and c.payload -> 'fact' ->> 'type' in ('started', 'step_began', 'corrected', 'edited')
          order by c.seq desc limit ${MAX_WORK_FACTS}) newest) as facts`;
  const { rows, approvals, facts, cut } = row ?? { rows: [], approvals: [], facts: [], cut: [] };
  return { rows, approvals, facts, cut: new Set(cut) };
}
