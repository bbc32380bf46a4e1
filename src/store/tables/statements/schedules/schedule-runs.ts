/** The outcome of schedules' slots: written with the move to the next slot, read with the state of the turns. */
import {
  MAX_RUNS_KEPT,
  type NewScheduleRun,
  type ScheduleRun,
  type ScheduleStore,
  type ScheduleTurn,
} from '../../../../protocol/schedules.ts';
import { readStoredText, storedText } from '../../../../protocol/texts/say.ts';
import { cleanJson } from '../../../../lib/json/json.ts';
import { cleanText } from '../../../../lib/text.ts';
import type { Database, Sql } from '../../../database/database.ts';

interface RunRow {
  dueAt: string;
  at: string;
  outcome: NewScheduleRun['outcome'];
  why: string | null;
  turnId: string | null;
  state: ScheduleTurn['state'] | null;
  reason: string | null;
  endedAt: string | null;
}

/**
 * The part of the `ScheduleStore` that handles runs, and the end of a schedule, which ends the runs or is reported by
 * them.
 */
export function createScheduleRuns(
  database: Database,
): Pick<ScheduleStore, 'scheduleRuns' | 'removeSchedule' | 'switchOffSchedule'> {
  return {
    scheduleRuns: (id) => database.run((sql) => readRuns(sql, id)),
    removeSchedule: (id) =>
      database.run(async (sql, attempt) => {
        const gone = await sql`
          with ran as (delete from schedule_run where schedule_id = ${cleanText(id)})
          delete from schedule where id = ${cleanText(id)} returning id`;
        return gone.length > 0 || attempt > 0;
      }),
    switchOffSchedule: (id, run) =>
      database.transaction(async (sql) => {
        const off = await sql`
          update schedule set next_at = null where id = ${cleanText(id)} and next_at is not null returning id`;
        if (off.length === 0) return;
        await insertRuns(sql, id, [run]);
        await deleteOldestRuns(sql, id);
      }),
  };
}

/** Stores runs of a schedule in their order, if the schedule exists. */
export async function insertRuns(sql: Sql, id: string, runs: readonly NewScheduleRun[]): Promise<void> {
  const rows = runs.map(({ dueAt, outcome, why, turnId }) => ({
    due_at: dueAt,
    outcome,
    why: typeof why === 'object' ? storedText(why) : why,
    turn_id: turnId,
  }));
  await sql`
    insert into schedule_run (schedule_id, session, due_at, outcome, why, turn_id)
    select s.id, s.session, n.due_at, n.outcome, n.why, n.turn_id
    from schedule s, jsonb_to_recordset(${cleanJson(rows)}::jsonb)
      as n(due_at timestamptz, outcome text, why text, turn_id text)
    where s.id = ${cleanText(id)}`;
}

/** Deletes those beyond the limit. */
export async function deleteOldestRuns(sql: Sql, id: string): Promise<void> {
  await sql`
    delete from schedule_run where id in (
      select id from schedule_run where schedule_id = ${cleanText(id)} order by id desc offset ${MAX_RUNS_KEPT})`;
}

/** Newest first. */
async function readRuns(sql: Sql, id: string): Promise<ScheduleRun[]> {
  const rows = await sql<RunRow[]>`
    select r.due_at as "dueAt", r.at, r.outcome, r.why, r.turn_id as "turnId", t.state, t.reason, t.ended_at as "endedAt"
    from schedule_run r left join turn t on t.id = r.turn_id
    where r.schedule_id = ${cleanText(id)} order by r.id desc limit ${MAX_RUNS_KEPT}`;
  return rows.map((row) => ({
    dueAt: new Date(row.dueAt),
    at: new Date(row.at),
    outcome: row.outcome,
    why: row.why === null ? undefined : (readStoredText(row.why) ?? row.why),
    turnId: row.turnId ?? undefined,
    turn:
      row.state === null
        ? undefined
        : {
            state: row.state,
            reason: row.reason ?? undefined,
            endedAt: row.endedAt === null ? undefined : new Date(row.endedAt),
          },
  }));
}
