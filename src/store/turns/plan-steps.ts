/** The plan of a turn: stored with everything that belongs to it in one statement, and updated as the turn runs it. */
import { FencedError } from '../../protocol/errors.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Plan } from '../../protocol/agent/plan.ts';
import { versionOf } from '../../protocol/agent/plan-edits.ts';
import type { Settlement } from '../../protocol/agent/usage.ts';
import type { PlanningRecord } from '../../protocol/agent/plan-store.ts';
import type { JournalRow } from '../../protocol/store/records.ts';
import type { Todo } from '../../protocol/store/notes.ts';
import type { Database, Sql } from '../database/database.ts';
import { notedTodos } from '../statements/effects.ts';
import { putTodos } from '../statements/plans.ts';
import { insertRows, mergedSources, sessionOfLane } from '../lanes/journal.ts';
import { heldLane } from '../lanes/lane-sql.ts';
import { settledPart } from '../statements/budgets.ts';

/** The functions of `Ledger` for plans. */
export function createPlanSteps(database: Database) {
  return {
    storePlan: (fence, turnId, planning) =>
      database.run((sql) => storePlan(sql, fence, turnId, clean(planning))),
    updatePlan: async (fence, plan, todos) => {
      await database.run((sql) => updatePlan(sql, fence, plan, todos));
    },
    planFact: (fence, turnId, entry, plan, todos) => {
      const row = { iteration: 0, entry, tokens: 0 };
      // A step does not begin if a person has changed it in the meantime.
      const unlessEdited = entry.fact.type === 'step_began';
      return database.run((sql) => updatePlan(sql, fence, plan, todos, { turnId, row, unlessEdited }));
    },
  } satisfies Partial<Ledger>;
}

function clean(planning: PlanningRecord): PlanningRecord {
  const { made: planRecord, model } = planning;
  return {
    ...planning,
    model: cleanText(model),
    made: planRecord && { ...planRecord, card: cleanText(planRecord.card) },
  };
}

/** One statement: writes nothing if the plan is already stored. */
async function storePlan(sql: Sql, fence: Fence, turnId: string, planning: PlanningRecord): Promise<void> {
  const session = sessionOfLane(fence);
  const [row] = await sql<{ held: boolean }[]>`
    with ${heldLane(sql, fence)}
    ${planRows(sql, fence, turnId, planning.made)},
    used as (${planningUsage(sql, session, turnId, planning)} returning 1)
    ${planning.settles === undefined ? sql`` : settledPart(sql, planned(sql, planning.settles))}
    select exists (select 1 from held) as held`;
  if (row?.held !== true) throw new FencedError(fence.lane);
}

function planRows(sql: Sql, fence: Fence, turnId: string, planRecord: PlanningRecord['made']) {
  if (planRecord === undefined) return sql``;
  const session = sessionOfLane(fence);
  return sql`,
    planned as (
      insert into plan (id, session, turn_id, doc)
      select ${planRecord.plan.id}, ${session}, ${turnId}, ${cleanJson(planRecord.plan)}::jsonb from held
      on conflict (id) do nothing returning id),
    talk as (
      update session set message_seq = message_seq + 1, updated_at = now(),
        sources = ${mergedSources(sql, sql`${fence.seq}`, planRecord.rows)}
      from planned where session.key = ${session} returning session.key, message_seq),
    said as (
      insert into message (session, seq, turn_id, role, content, is_plan)
      select key, message_seq, ${turnId}, 'assistant', ${planRecord.card}, true from talk),
    ${planRecord.todos === undefined ? sql`` : sql`listed as (${putTodos(sql, session, planRecord.todos, sql`planned`)}),`}
    ${countRun(sql, session, planRecord.plan)}
    written as (${insertRows(sql, fence, turnId, planRecord.rows, sql`planned`)})
    ${planRecord.todos === undefined ? sql`` : notedTodos(sql, session, turnId, planRecord.todos, sql`planned`)}`;
}

/** A CTE that counts the run in the plan that is being run. */
function countRun(sql: Sql, session: string, { origin }: Plan) {
  if (origin === undefined) return sql``;
  return sql`
    counted as (
      update plan set doc = jsonb_set(plan.doc, '{runs}', to_jsonb(${origin.run}::int)), updated_at = now()
      from planned where plan.id = ${origin.planId} and plan.session = ${session}),`;
}

/** The planning that this statement counts. */
function planned(sql: Sql, { holder, tokens, micros }: Settlement) {
  return sql`(select ${holder}::text as holder, ${tokens}::bigint as tokens, ${micros}::bigint as micros from used) s`;
}

/** A turn whose planning was interrupted by a crash plans again: the usage of the first planning stays counted. */
function planningUsage(sql: Sql, session: string, turnId: string, planning: PlanningRecord) {
  const { userId, model, usage } = planning;
  return sql`
    insert into usage (turn_id, session, user_id, purpose, model, prompt_tokens, completion_tokens, model_ms, estimated)
    select ${turnId}, ${session}, ${userId}, 'plan', ${model}, ${Math.round(usage.promptTokens)},
      ${Math.round(usage.completionTokens)}, ${Math.round(usage.modelMs)}, ${usage.estimated ?? false}
    from held where ${planning.made?.plan.origin === undefined} and not exists (select from usage where turn_id = ${turnId} and purpose = 'plan')`;
}

/** False, without a change, if the change is only for a plan that no one has edited, and someone has. */
async function updatePlan(
  sql: Sql,
  fence: Fence,
  plan: Plan,
  todos: readonly Todo[] | undefined,
  fact?: { turnId: string; row: JournalRow; unlessEdited: boolean },
): Promise<boolean> {
  const session = sessionOfLane(fence);
  const doc = cleanJson(plan);
  // A repeat of a change that was already made finds the plan in the desired state.
  const unedited = sql`
    and (plan.doc = ${doc}::jsonb or coalesce((plan.request -> 'edits' -> -1 ->> 'version')::int, 1) <= ${versionOf(plan)})`;
  const guard: ReturnType<Sql> = fact?.unlessEdited === true ? sql`changed` : sql`held`;
  const insertFact =
    fact === undefined
      ? sql``
      : sql`, written as (${insertRows(sql, fence, fact.turnId, [fact.row], guard)})`;
  const planner = sql`(select turn_id from plan where id = ${plan.id})`;
  const list =
    todos === undefined
      ? sql``
      : sql`, listed as (${putTodos(sql, session, todos, guard)}) ${notedTodos(sql, session, planner, todos, guard)}`;
  const [row] = await sql<{ held: boolean; changed: boolean }[]>`
    with ${heldLane(sql, fence)},
    changed as (
      update plan set doc = ${doc}::jsonb, updated_at = now()
      from held where id = ${plan.id} and session = ${session}
      ${fact?.unlessEdited === true ? unedited : sql``} returning plan.id)
    ${list}
    ${insertFact}
    select exists (select 1 from held) as held, exists (select 1 from changed) as changed`;
  if (row?.held !== true) throw new FencedError(fence.lane);
  return row.changed || fact?.unlessEdited !== true;
}
