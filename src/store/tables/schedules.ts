/** Schedules: kept within their bounds, found when they are due, moved on once per slot. */
import { and, asc, desc, eq, isNull, sql as expression } from 'drizzle-orm';
import { z } from 'zod';
import { cleanJson } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { KEPT_OVER, MAX_SYSTEM_SCHEDULES, MAX_SCHEDULES } from '../../contracts/schedules.ts';
import type { ScheduleRecord, ScheduleStore } from '../../contracts/schedules.ts';
import type { Database, Sql } from '../database/database.ts';
import { schedule } from '../database/schema.ts';
import { asSessionKey } from './session-rows.ts';

const timing = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('cron'), expression: z.string(), timeZone: z.string() }),
  z.object({ kind: z.literal('every'), everyMs: z.number().positive() }),
  z.object({ kind: z.literal('at'), at: z.number() }),
]);

/** Stands for what cannot be read: nothing follows from it, so whoever runs it switches it off, and it holds up no other. */
const UNREADABLE = { kind: 'cron', expression: 'unreadable', timeZone: 'UTC' } as const;

/** The `ScheduleStore` over a database. */
export function createScheduleStore(database: Database): ScheduleStore {
  return { ...createKeeping(database), ...createFiring(database) };
}

type Keeping = Pick<ScheduleStore, 'addSchedule' | 'schedules' | 'schedule' | 'removeSchedule'>;

function createKeeping(database: Database): Keeping {
  return {
    addSchedule: (wanted) => database.transaction((sql) => addSchedule(sql, wanted)),
    schedules: ({ session, creatorId, limit }) =>
      database.query(async (orm) => {
        const ofSession = session === undefined ? undefined : eq(schedule.session, cleanText(session));
        const ofCreator = creatorId === undefined ? undefined : eq(schedule.creatorId, cleanText(creatorId));
        const found = orm.select().from(schedule).where(and(ofSession, ofCreator));
        const order = [isNull(schedule.nextAt), desc(schedule.createdAt), desc(schedule.id)];
        const rows = await found.orderBy(...order).limit(limit);
        return rows.map(toRecord);
      }),
    schedule: (id) =>
      database.query(async (orm) => {
        const [row] = await orm
          .select()
          .from(schedule)
          .where(eq(schedule.id, cleanText(id)));
        return row === undefined ? undefined : toRecord(row);
      }),
    removeSchedule: (id) =>
      database.query(async (orm, attempt) => {
        const gone = await orm
          .delete(schedule)
          .where(eq(schedule.id, cleanText(id)))
          .returning();
        return gone.length > 0 || attempt > 0;
      }),
  };
}

type Firing = Pick<ScheduleStore, 'untilNextSlot' | 'dueSchedules' | 'advanceSchedule' | 'switchOffSchedule'>;

function createFiring(database: Database): Firing {
  return {
    untilNextSlot: () =>
      database.run(async (sql) => {
        const [row] = await sql<{ ms: number | null }[]>`
          select (extract(epoch from min(next_at) - now()) * 1000)::float8 as ms
          from schedule where next_at is not null`;
        return row?.ms === null || row === undefined ? undefined : Math.max(0, Math.ceil(row.ms));
      }),
    dueSchedules: (limit) =>
      database.query(async (orm) => {
        const now = expression<string>`now()`.as('now');
        const due = orm.select({ row: schedule, now }).from(schedule);
        const rows = await due
          .where(expression`${schedule.nextAt} <= now()`)
          .orderBy(asc(schedule.nextAt), asc(schedule.id))
          .limit(limit);
        return rows.flatMap(({ row, now }) =>
          row.nextAt === null ? [] : [{ ...toRecord(row), nextAt: row.nextAt, now: new Date(now) }],
        );
      }),
    advanceSchedule: (id, slot, nextAt) =>
      database.run((sql, attempt) => advanceSchedule(sql, { id, slot, nextAt }, attempt)),
    switchOffSchedule: (id) =>
      database.query(async (orm) => {
        await orm
          .update(schedule)
          .set({ nextAt: null })
          .where(eq(schedule.id, cleanText(id)));
      }),
  };
}

/** One at a time in the whole house, so that raced additions do not exceed the bounds. */
async function addSchedule(
  sql: Sql,
  wanted: Parameters<ScheduleStore['addSchedule']>[0],
): ReturnType<ScheduleStore['addSchedule']> {
  const id = cleanText(wanted.id);
  const session = cleanText(wanted.session);
  await sql`select pg_advisory_xact_lock(hashtextextended('parley schedules', 0))`;
  const [held] = await sql<{ known: boolean; session: number; house: number }[]>`
    select exists (select 1 from schedule where id = ${id}) as known,
      (count(*) filter (where session = ${session}))::int as session, count(*)::int as house
    from schedule where next_at is not null`;
  if (held?.known === true) return 'added';
  if (held !== undefined && held.session >= MAX_SCHEDULES) return 'session_full';
  if (held !== undefined && held.house >= MAX_SYSTEM_SCHEDULES) return 'gateway_full';
  await sql`
    insert into schedule (id, session, address, place, creator_id, timing, task, next_at)
    values (${id}, ${session}, ${cleanText(wanted.address)}, ${wanted.place}, ${cleanText(wanted.creatorId)},
      ${cleanJson(wanted.timing)}::jsonb, ${cleanText(wanted.task)}, ${wanted.nextAt?.toISOString() ?? null})`;
  await sql`
    delete from schedule where id in (
      select id from schedule where session = ${session} and next_at is null
      order by coalesce(last_at, created_at) desc, id offset ${KEPT_OVER})`;
  return 'added';
}

async function advanceSchedule(
  sql: Sql,
  { id, slot, nextAt }: { id: string; slot: Date; nextAt: Date | undefined },
  attempt: number,
): Promise<boolean> {
  const next = nextAt?.toISOString() ?? null;
  const moved = await sql`
    update schedule set next_at = ${next}::timestamptz, last_at = now()
    where id = ${cleanText(id)} and date_trunc('milliseconds', next_at) = ${slot.toISOString()}::timestamptz
    returning id`;
  if (moved.length > 0 || attempt === 0) return moved.length > 0;
  // The run before may have moved it, its answer lost.
  const there = await sql`
    select 1 from schedule
    where id = ${cleanText(id)} and next_at is not distinct from ${next}::timestamptz and last_at is not null`;
  return there.length > 0;
}

function toRecord(row: typeof schedule.$inferSelect): ScheduleRecord {
  return {
    id: row.id,
    session: asSessionKey(row.session),
    address: asSessionKey(row.address),
    place: row.place,
    creatorId: row.creatorId,
    timing: timing.safeParse(row.timing).data ?? UNREADABLE,
    task: row.task,
    nextAt: row.nextAt ?? undefined,
    lastAt: row.lastAt ?? undefined,
    createdAt: row.createdAt,
  };
}
