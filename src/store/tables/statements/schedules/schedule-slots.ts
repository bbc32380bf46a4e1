/** Schedules by the database's clock: added within their limits, and advanced once per slot. */
import { cleanJson } from '../../../../lib/json/json.ts';
import { cleanText } from '../../../../lib/text.ts';
import {
  KEPT_OVER,
  type NewScheduleRun,
  SCHEDULE_LIMITS,
  type ScheduleLimits,
  type ScheduleStore,
} from '../../../../protocol/schedules.ts';
import { type Database, readClock, type Sql } from '../../../database/database.ts';
import { deleteOldestRuns, insertRuns } from './schedule-runs.ts';

type ScheduleSlots = Pick<
  ScheduleStore,
  'databaseNow' | 'addSchedule' | 'untilNextSlot' | 'advanceSchedule' | 'makeDue'
>;

/** The part of the `ScheduleStore` that locks and advances slots. */
export function createScheduleSlots(database: Database): ScheduleSlots {
  return {
    databaseNow: async () => new Date(await database.run(readClock)),
    addSchedule: (wanted, limits = SCHEDULE_LIMITS) =>
      database.transaction((sql) => addSchedule(sql, wanted, limits)),
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
      database.run(async (sql) => {
        const due = await sql`update schedule set next_at = now() where id = ${cleanText(id)} returning id`;
        return due.length > 0;
      }),
    advanceSchedule: (id, slot, nextAt, runs = []) =>
      database.transaction((sql, attempt) => advanceSchedule(sql, { id, slot, nextAt, runs }, attempt)),
  };
}

/** One at a time in the whole database, so that concurrent additions do not exceed the limits. */
async function addSchedule(
  sql: Sql,
  wanted: Parameters<ScheduleStore['addSchedule']>[0],
  limits: ScheduleLimits,
): ReturnType<ScheduleStore['addSchedule']> {
  const id = cleanText(wanted.id);
  const session = cleanText(wanted.session);
  await sql`select pg_advisory_xact_lock(hashtextextended('parley schedules', 0))`;
  const [held] = await sql<{ known: boolean; session: number; user: number; total: number }[]>`
    select exists (select 1 from schedule where id = ${id}) as known,
      (count(*) filter (where session = ${session}))::int as session,
      (count(*) filter (where creator_id = ${cleanText(wanted.creatorId)}))::int as user, count(*)::int as total
    from schedule where next_at is not null`;
  if (held?.known === true) return 'added';
  if (held !== undefined && held.session >= limits.perSession) return 'session_full';
  if (held !== undefined && held.user >= limits.perUser) return 'user_full';
  if (held !== undefined && held.total >= limits.total) return 'gateway_full';
  await sql`
    insert into schedule (id, session, address, place, creator_id, timing, task, sources, next_at)
    values (${id}, ${session}, ${cleanText(wanted.address)}, ${wanted.place}, ${cleanText(wanted.creatorId)},
      ${cleanJson(wanted.timing)}::jsonb, ${cleanText(wanted.task)}, ${cleanJson(wanted.sources)}::jsonb, ${wanted.nextAt?.toISOString() ?? null})`;
  await sql`
    with gone as (
      delete from schedule where id in (
        select id from schedule where session = ${session} and next_at is null
        order by coalesce(last_at, created_at) desc, id offset ${KEPT_OVER}) returning id)
    delete from schedule_run where schedule_id in (select id from gone)`;
  return 'added';
}

async function advanceSchedule(
  sql: Sql,
  {
    id,
    slot,
    nextAt,
    runs,
  }: { id: string; slot: Date; nextAt: Date | undefined; runs: readonly NewScheduleRun[] },
  attempt: number,
): Promise<boolean> {
  const next = nextAt?.toISOString() ?? null;
  const moved = await sql`
    update schedule set next_at = ${next}::timestamptz, last_at = now()
    where id = ${cleanText(id)} and date_trunc('milliseconds', next_at) = ${slot.toISOString()}::timestamptz
    returning id`;
  if (moved.length > 0 && runs.length > 0) {
    await insertRuns(sql, id, runs);
    await deleteOldestRuns(sql, id);
  }
  if (moved.length > 0 || attempt === 0) return moved.length > 0;
  // The previous attempt may have advanced it, with its answer lost.
  const there = await sql`
    select 1 from schedule
    where id = ${cleanText(id)} and next_at is not distinct from ${next}::timestamptz and last_at is not null`;
  return there.length > 0;
}
