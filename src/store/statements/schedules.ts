/** Schedules by the database's clock: added within their limits, advanced once per slot, with the outcome of their slots. */
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import {
  KEPT_OVER,
  MAX_RUNS_KEPT,
  type NewScheduleRun,
  SCHEDULE_LIMITS,
  type ScheduleLimits,
  type ScheduleRun,
  type ScheduleStore,
  type ScheduleTurn,
} from '../../protocol/schedules.ts';
import { type Database, readClock, type Sql, withoutNulls } from '../database/database.ts';
import { readStoredText, storedText } from '../../protocol/texts/say.ts';

/** The part of the `ScheduleStore` that locks and advances slots. */
export function createScheduleSlots(database: Database) {
  return {
    databaseNow: async () => new Date(await database.run(readClock)),
    addSchedule: (schedule, limits = SCHEDULE_LIMITS) =>
      database.transaction((sql) => addSchedule(sql, schedule, limits)),
    untilNextSlot: () =>
      database.run(async (sql) => {
        const latest = sql`now() + coalesce(timing ->> 'everyMs', timing ->> 'inMs')::float8 * interval '1 millisecond'`;
        const [row] = await sql<{ ms: number | null }[]>`
          with moved as (update schedule set next_at = ${latest} where next_at > ${latest})
          select (extract(epoch from min(next_at) - now()) * 1000)::float8 as ms
          from schedule where next_at is not null`;
        return row?.ms === null || row === undefined ? undefined : Math.max(0, Math.ceil(row.ms));
      }),
    makeDue: (id) =>
      database.exists(
        (sql) => sql`update schedule set next_at = now() where id = ${cleanText(id)} returning id`,
      ),
    advanceSchedule: (id, slot, nextAt, runs = []) =>
      database.transaction(async (sql, attempt) => {
        const next = nextAt?.toISOString() ?? null;
        const advanced = await sql`
          update schedule set next_at = ${next}::timestamptz, last_at = now()
          where id = ${cleanText(id)} and date_trunc('milliseconds', next_at) = ${slot.toISOString()}::timestamptz
          returning id`;
        if (advanced.length > 0 && runs.length > 0) await insertRuns(sql, id, runs);
        if (advanced.length > 0 || attempt === 0) return advanced.length > 0;
        // The previous attempt may have advanced it, with its answer lost.
        const rows = await sql`
          select 1 from schedule
          where id = ${cleanText(id)} and next_at is not distinct from ${next}::timestamptz and last_at is not null`;
        return rows.length > 0;
      }),
  } satisfies Partial<ScheduleStore>;
}

/** One at a time in the whole database, so that concurrent additions do not exceed the limits. */
async function addSchedule(
  sql: Sql,
  schedule: Parameters<ScheduleStore['addSchedule']>[0],
  limits: ScheduleLimits,
): ReturnType<ScheduleStore['addSchedule']> {
  const id = cleanText(schedule.id);
  const session = cleanText(schedule.session);
  await sql`select pg_advisory_xact_lock(hashtextextended('parley schedules', 0))`;
  const [count] = await sql<{ known: boolean; session: number; user: number; total: number }[]>`
    select exists (select 1 from schedule where id = ${id}) as known,
      (count(*) filter (where session = ${session}))::int as session,
      (count(*) filter (where creator_id = ${cleanText(schedule.creatorId)}))::int as user, count(*)::int as total
    from schedule where next_at is not null`;
  if (count?.known === true) return 'added';
  if (count !== undefined && count.session >= limits.perSession) return 'session_full';
  if (count !== undefined && count.user >= limits.perUser) return 'user_full';
  if (count !== undefined && count.total >= limits.total) return 'gateway_full';
  await sql`
    insert into schedule (id, session, address, place, creator_id, timing, task, sources, next_at)
    values (${id}, ${session}, ${cleanText(schedule.address)}, ${schedule.place}, ${cleanText(schedule.creatorId)},
      ${cleanJson(schedule.timing)}::jsonb, ${cleanText(schedule.task)}, ${cleanJson(schedule.sources)}::jsonb, ${schedule.nextAt?.toISOString() ?? null})`;
  await sql`
    with gone as (
      delete from schedule where id in (
        select id from schedule where session = ${session} and next_at is null
        order by coalesce(last_at, created_at) desc, id offset ${KEPT_OVER}) returning id)
    delete from schedule_run where schedule_id in (select id from gone)`;
  return 'added';
}

/** The part of the `ScheduleStore` for runs, and for the end of a schedule. */
export function createScheduleRuns(database: Database) {
  return {
    scheduleRuns: (id) => database.run((sql) => readRuns(sql, id)),
    removeSchedule: (id) =>
      database.once(
        (sql) => sql`
          with ran as (delete from schedule_run where schedule_id = ${cleanText(id)})
          delete from schedule where id = ${cleanText(id)} returning id`,
      ),
    switchOffSchedule: (id, run) =>
      database.transaction(async (sql) => {
        const rows = await sql`
          update schedule set next_at = null where id = ${cleanText(id)} and next_at is not null returning id`;
        if (rows.length > 0) await insertRuns(sql, id, [run]);
      }),
  } satisfies Partial<ScheduleStore>;
}

/** Stores runs of a schedule in their order, if the schedule exists, and deletes its oldest ones beyond the limit. */
async function insertRuns(sql: Sql, id: string, runs: readonly NewScheduleRun[]): Promise<void> {
  const rows = runs.map(({ dueAt, outcome, why: cause, turnId }) => ({
    due_at: dueAt,
    outcome,
    why: typeof cause === 'object' ? storedText(cause) : cause,
    turn_id: turnId,
  }));
  await sql`
    insert into schedule_run (schedule_id, session, due_at, outcome, why, turn_id)
    select s.id, s.session, n.due_at, n.outcome, n.why, n.turn_id
    from schedule s, jsonb_to_recordset(${cleanJson(rows)}::jsonb)
      as n(due_at timestamptz, outcome text, why text, turn_id text)
    where s.id = ${cleanText(id)}`;
  await sql`
    delete from schedule_run where id in (
      select id from schedule_run where schedule_id = ${cleanText(id)} order by id desc offset ${MAX_RUNS_KEPT})`;
}

/** Newest first. */
async function readRuns(sql: Sql, id: string): Promise<ScheduleRun[]> {
  const rows = await sql<
    (ScheduleRun & { state?: ScheduleTurn['state']; reason?: string; endedAt?: Date })[]
  >`
    select r.due_at as "dueAt", r.at, r.outcome, r.why, r.turn_id as "turnId", t.state, t.reason, t.ended_at as "endedAt"
    from schedule_run r left join turn t on t.id = r.turn_id
    where r.schedule_id = ${cleanText(id)} order by r.id desc limit ${MAX_RUNS_KEPT}`;
  return withoutNulls(rows).map(({ state, reason, endedAt, why: cause, ...run }) => ({
    ...run,
    why: typeof cause === 'string' ? (readStoredText(cause) ?? cause) : cause,
    turn: state && { state, reason, endedAt },
  }));
}
