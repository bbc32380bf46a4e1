/** The plan of a turn: stored with all that belongs to it in one statement, and updated as the turn runs it. */
import { FencedError } from '../../contracts/errors.ts';
import type { Fence } from '../../contracts/lanes.ts';
import type { Ledger } from '../../contracts/ledger.ts';
import { cleanJson } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Plan } from '../../contracts/plan.ts';
import type { PlanningRecord } from '../../contracts/plan-store.ts';
import type { JournalRow } from '../../contracts/records.ts';
import type { Todo } from '../../contracts/notes.ts';
import type { Database, Sql } from '../database/database.ts';
import { putTodos } from '../statements/notes.ts';
import { insertRows, sessionOfLane } from './journal.ts';
import { heldLane } from './lane-sql.ts';

/** The ledger's functions for plans. */
export function createPlanSteps(database: Database): Pick<Ledger, 'storePlan' | 'updatePlan' | 'planFact'> {
  return {
    storePlan: (fence, turnId, planning) =>
      database.run((sql) => storePlan(sql, fence, turnId, clean(planning))),
    updatePlan: (fence, plan, todos) => database.run((sql) => updatePlan(sql, fence, plan, todos)),
    planFact: (fence, turnId, entry, plan, todos) => {
      const row = { iteration: 0, entry, tokens: 0 };
      return database.run((sql) => updatePlan(sql, fence, plan, todos, { turnId, row }));
    },
  };
}

function clean(planning: PlanningRecord): PlanningRecord {
  const { made, model } = planning;
  return {
    ...planning,
    model: cleanText(model),
    made: made && { ...made, card: cleanText(made.card) },
  };
}

/** One statement: nothing is written when the plan is already stored. */
async function storePlan(sql: Sql, fence: Fence, turnId: string, planning: PlanningRecord): Promise<void> {
  const session = sessionOfLane(fence);
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)}
    ${planRows(sql, fence, turnId, planning.made)},
    used as (${planningUsage(sql, session, turnId, planning)})
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

function planRows(sql: Sql, fence: Fence, turnId: string, made: PlanningRecord['made']) {
  if (made === undefined) return sql``;
  const session = sessionOfLane(fence);
  return sql`,
    planned as (
      insert into plan (id, session, turn_id, doc)
      select ${made.plan.id}, ${session}, ${turnId}, ${cleanJson(made.plan)}::jsonb from held
      on conflict (id) do nothing returning id),
    talk as (
      update session set message_seq = message_seq + 1, updated_at = now()
      from planned where session.key = ${session} returning session.key, message_seq),
    said as (
      insert into message (session, seq, turn_id, role, content, is_plan)
      select key, message_seq, ${turnId}, 'assistant', ${made.card}, true from talk),
    written as (${insertRows(sql, fence, turnId, made.rows, sql`planned`)}),
    listed as (${putTodos(sql, session, made.todos, sql`planned`)})`;
}

/** A turn whose planning was interrupted by a crash plans again: the usage of the first planning stays counted. */
function planningUsage(sql: Sql, session: string, turnId: string, planning: PlanningRecord) {
  const { userId, model, usage } = planning;
  return sql`
    insert into usage (turn_id, session, user_id, purpose, model, prompt_tokens, completion_tokens, model_ms, estimated)
    select ${turnId}, ${session}, ${userId}, 'plan', ${model}, ${Math.round(usage.promptTokens)},
      ${Math.round(usage.completionTokens)}, ${Math.round(usage.modelMs)}, ${usage.estimated ?? false}
    from held where not exists (select from usage where turn_id = ${turnId} and purpose = 'plan')`;
}

async function updatePlan(
  sql: Sql,
  fence: Fence,
  plan: Plan,
  todos: readonly Todo[] | undefined,
  fact?: { turnId: string; row: JournalRow },
): Promise<void> {
  const session = sessionOfLane(fence);
  const written =
    fact === undefined
      ? sql``
      : sql`, written as (${insertRows(sql, fence, fact.turnId, [fact.row], sql`held`)})`;
  const list = todos === undefined ? sql`` : sql`, listed as (${putTodos(sql, session, todos, sql`held`)})`;
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)},
    changed as (
      update plan set doc = ${cleanJson(plan)}::jsonb, updated_at = now()
      from held where id = ${plan.id} and session = ${session})
    ${list}
    ${written}
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}
