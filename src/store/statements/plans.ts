/** Plans in their current state, what users requested for them, and the agent's notes: the todo list and the scratchpad. */
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Address, SessionKey } from '../../protocol/message.ts';
import type { Plan } from '../../protocol/agent/plan.ts';
import { versionOf, withPendingEdits } from '../../protocol/agent/plan-edits.ts';
import type { PlanRecord, PlanRequest, PlanStore } from '../../protocol/agent/plan-store.ts';
import { type Database, type Fragment, type Sql, withoutNulls } from '../database/database.ts';
import {
  MAX_NOTES,
  type Note,
  type ScratchpadStore,
  type Todo,
  type TodoStore,
} from '../../protocol/store/notes.ts';

/** The database counts rows in 32 bits. */
const MAX_PLAN_NUMBER = 2 ** 31 - 1;

interface PlanRow {
  doc: Plan;
  request?: PlanRequest;
  session: SessionKey;
  turnId: string;
  address?: Address;
  createdAt: Date;
  updatedAt: Date;
  etag: string;
}

/** The `PlanStore` over a database. */
export function createPlans(database: Database): PlanStore {
  return {
    plan: (id) => database.run((run) => onePlan(run, run`p.id = ${cleanText(id)}`)),
    latestPlan: (session) =>
      database.run((run) =>
        onePlan(run, run`p.session = ${cleanText(session)} order by p.created_at desc, p.id desc limit 1`),
      ),
    plans: (session, limit) =>
      database.run(async (run) => {
        const rows = await run<(PlanRow & { number: number })[]>`
          select ${columns(run)}, (row_number() over (order by p.created_at, p.id))::int as number
          from ${source(run)} where p.session = ${cleanText(session)} and not p.doc ? 'origin'
          order by number desc limit ${limit}`;
        return withoutNulls(rows).map(({ number, ...row }) => ({ record: toRecord(row), number }));
      }),
    planNumber: async (session, number) => {
      if (!(number >= 1 && number <= MAX_PLAN_NUMBER)) return undefined;
      return await database.run((run) =>
        onePlan(
          run,
          run`p.session = ${cleanText(session)} and not p.doc ? 'origin'
            order by p.created_at, p.id offset ${number - 1}::int limit 1`,
        ),
      );
    },
    changePlan: (old, change) =>
      database.exists((run) => {
        const set =
          'plan' in change
            ? run`doc = ${cleanJson(change.plan)}::jsonb`
            : run`request = coalesce(request, '{}') || jsonb_build_object('edits', coalesce(
                (select jsonb_agg(edit) from jsonb_array_elements(request -> 'edits') edit
                  where (edit ->> 'version')::int > coalesce((doc ->> 'version')::int, 1)), '[]')
                || ${cleanJson([change.edit])}::jsonb)`;
        return run`
          update plan p set ${set}, updated_at = now()
          where p.id = ${old.plan.id} and ${etagOf(run)} = ${old.etag} returning 1`;
      }),
    planRequests: (id) =>
      database.run(async (run) => {
        const [row] = await run<{ request: PlanRequest | null }[]>`
          select request from plan where id = ${cleanText(id)}`;
        return row?.request ?? {};
      }),
    requestOnPlan: (id, change) =>
      database.write(
        (run) => run`
          update plan set request = coalesce(request, '{}') || ${cleanJson(change)}::jsonb where id = ${cleanText(id)}`,
      ),
  };
}

async function onePlan(run: Sql, condition: Fragment): Promise<PlanRecord | undefined> {
  const rows = await run<PlanRow[]>`select ${columns(run)} from ${source(run)} where ${condition}`;
  return withoutNulls(rows).map(toRecord)[0];
}

function columns(run: Sql) {
  return run`p.doc, p.request, p.session, p.turn_id as "turnId", t.address,
    p.created_at as "createdAt", p.updated_at as "updatedAt", ${etagOf(run)} as etag`;
}

function source(run: Sql) {
  return run`plan p left join turn t on t.id = p.turn_id`;
}

/** A digest of everything that people and the turn change; equal values have equal texts as `jsonb`. */
function etagOf(run: Sql) {
  return run`md5(p.doc::text || coalesce(p.request::text, ''))`;
}

function toRecord({ doc, request, ...row }: PlanRow): PlanRecord {
  const pending = (request?.edits ?? []).filter(({ version }) => version > versionOf(doc));
  return { ...row, plan: withPendingEdits(doc, pending, undefined), pendingEdits: pending.length };
}

/** The `TodoStore` over a database; each write is one statement, so that two agents of a session do not overwrite each other's changes. */
export function createTodos(database: Database): TodoStore {
  return {
    todos: (session) =>
      database.run(async (sql) => {
        const [row] = await sql<{ items: Todo[] }[]>`select items from todo where session = ${session}`;
        return row?.items ?? [];
      }),
    setTodos: (session, items) =>
      database.write((sql) => sql`${putTodos(sql, session, items, sql`(select 1) as once`)}`),
    changeTodo: (session, index, change) =>
      database.run(async (sql) => {
        const [row] = await sql<{ items: Todo[] }[]>`
          update todo set updated_at = now(),
            items = jsonb_set(items, array[${String(index)}], (items -> ${index}::int) || ${cleanJson(change)}::jsonb)
          where session = ${session} and ${index}::int between 0 and jsonb_array_length(items) - 1
          returning items`;
        return row?.items;
      }),
  };
}

/** The `ScratchpadStore` over a database. */
export function createScratchpad(database: Database): ScratchpadStore {
  return {
    notes: (session) =>
      database.run(async (sql) => {
        const rows = await sql<(Note & { name: string })[]>`
          select name, content as text, sources from scratchpad where session = ${session} order by name collate "C"`;
        return new Map(rows.map(({ name, text, sources }) => [name, { text, sources }]));
      }),
    setNote: (session, name, note) =>
      database.transaction(async (sql) => {
        const key = cleanText(name);
        // One at a time per session, so that concurrent notes do not exceed the limit.
        await sql`select pg_advisory_xact_lock(hashtextextended(${`parley notes ${session}`}, 0))`;
        if (note === undefined) {
          await sql`delete from scratchpad where session = ${session} and name = ${key}`;
          return true;
        }
        const rows = await sql`
          insert into scratchpad (session, name, content, sources)
          select ${session}, ${key}, ${cleanText(note.text)}, ${cleanJson(note.sources)}::jsonb
          where (select count(*) from scratchpad where session = ${session} and name <> ${key}) < ${MAX_NOTES}
          on conflict (session, name) do update set content = excluded.content, sources = excluded.sources returning name`;
        return rows.length > 0;
      }),
  };
}

/** The body of a CTE that replaces a session's todo list while the CTE `guard` has its one row. */
export function putTodos(sql: Sql, session: string, items: readonly Todo[], guard: ReturnType<Sql>) {
  return sql`
    insert into todo (session, items) select ${session}, ${cleanJson(items)}::jsonb from ${guard}
    on conflict (session) do update set items = excluded.items, updated_at = now()`;
}
