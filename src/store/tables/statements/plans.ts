/** Plans in their current state, and what users requested for them. */
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import type { Address } from '../../../protocol/message.ts';
import type { Plan } from '../../../protocol/agent/plan.ts';
import { versionOf, withPendingEdits } from '../../../protocol/agent/plan-edits.ts';
import type { PlanRecord, PlanRequest, PlanStore } from '../../../protocol/agent/plan-store.ts';
import type { Database, Sql } from '../../database/database.ts';
import { asSessionKey } from '../session-rows.ts';

/** The database counts rows in 32 bits. */
const MAX_PLAN_NUMBER = 2 ** 31 - 1;

interface PlanRow {
  doc: Plan;
  request: PlanRequest | null;
  session: string;
  turnId: string;
  address: Address | null;
  createdAt: Date;
  updatedAt: Date;
  etag: string;
}

/** The `PlanStore` over a database. */
export function createPlans(database: Database): PlanStore {
  return {
    plan: (id) =>
      database.run(async (run) => {
        const [row] = await run<
          PlanRow[]
        >`select ${columns(run)} from ${source(run)} where p.id = ${cleanText(id)}`;
        return row && toRecord(row);
      }),
    latestPlan: (session) =>
      database.run(async (run) => {
        const [row] = await run<PlanRow[]>`
          select ${columns(run)} from ${source(run)} where p.session = ${cleanText(session)}
          order by p.created_at desc, p.id desc limit 1`;
        return row && toRecord(row);
      }),
    plans: (session, limit) =>
      database.run(async (run) => {
        const rows = await run<(PlanRow & { number: number })[]>`
          select ${columns(run)}, (row_number() over (order by p.created_at, p.id))::int as number
          from ${source(run)} where p.session = ${cleanText(session)} and not p.doc ? 'origin'
          order by number desc limit ${limit}`;
        return rows.map((row) => ({ record: toRecord(row), number: row.number }));
      }),
    planNumber: (session, number) =>
      database.run(async (run) => {
        if (!(number >= 1 && number <= MAX_PLAN_NUMBER)) return undefined;
        const [row] = await run<PlanRow[]>`
          select ${columns(run)} from ${source(run)} where p.session = ${cleanText(session)} and not p.doc ? 'origin'
          order by p.created_at, p.id offset ${number - 1}::int limit 1`;
        return row && toRecord(row);
      }),
    changePlan: (before, change) =>
      database.run(async (run) => {
        const set =
          'plan' in change
            ? run`doc = ${cleanJson(change.plan)}::jsonb`
            : run`request = coalesce(request, '{}') || jsonb_build_object('edits', coalesce(
                (select jsonb_agg(edit) from jsonb_array_elements(request -> 'edits') edit
                  where (edit ->> 'version')::int > coalesce((doc ->> 'version')::int, 1)), '[]')
                || ${cleanJson([change.edit])}::jsonb)`;
        const changed = await run`
          update plan p set ${set}, updated_at = now()
          where p.id = ${before.plan.id} and ${etagOf(run)} = ${before.etag} returning 1`;
        return changed.length > 0;
      }),
    planRequests: (id) =>
      database.run(async (run) => {
        const [row] = await run<
          { request: PlanRequest | null }[]
        >`select request from plan where id = ${cleanText(id)}`;
        return row?.request ?? {};
      }),
    requestOnPlan: (id, change) =>
      database.run(async (run) => {
        await run`
          update plan set request = coalesce(request, '{}') || ${cleanJson(change)}::jsonb where id = ${cleanText(id)}`;
      }),
  };
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

function toRecord({ doc, request, session, turnId, address, ...row }: PlanRow): PlanRecord {
  const pending = (request?.edits ?? []).filter(({ version }) => version > versionOf(doc));
  const { createdAt, updatedAt, etag } = row;
  return {
    plan: withPendingEdits(doc, pending, undefined),
    session: asSessionKey(session),
    turnId,
    pendingEdits: pending.length,
    ...(address !== null && { address }),
    createdAt,
    updatedAt,
    etag,
  };
}
