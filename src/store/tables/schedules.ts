/** Schedules: listing, finding the due ones, changing. */
import { z } from 'zod';
import { cleanText } from '../../lib/text.ts';
import { SCHEDULE_LIMITS, type ScheduleRecord, type ScheduleStore } from '../../protocol/schedules.ts';
import type { Database } from '../database/database.ts';
import { and, asc, desc, eq, isNull, type Orm, sql } from '../database/drizzle.ts';
import { schedule } from '../database/schema.ts';
import { asSessionKey } from './sessions.ts';

const timing = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('cron'), expression: z.string(), timeZone: z.string() }),
  z.object({ kind: z.literal('every'), everyMs: z.number().positive() }),
  z.object({ kind: z.literal('at'), at: z.number(), inMs: z.number().optional() }),
]);

/** Replaces a timing that cannot be parsed: it has no next slot, so its schedule is disabled and delays no other. */
const UNREADABLE = { kind: 'cron', expression: 'unreadable', timeZone: 'UTC' } as const;

/** The part of the `ScheduleStore` that lists schedules and changes one. */
export function createScheduleTable(database: Database) {
  return {
    schedules: ({ session, creatorId, limit }) =>
      database.query(async (orm) => {
        const ofSession = session === undefined ? undefined : eq(schedule.session, cleanText(session));
        const ofCreator = creatorId === undefined ? undefined : eq(schedule.creatorId, cleanText(creatorId));
        const matches = orm.select().from(schedule).where(and(ofSession, ofCreator));
        const order = [isNull(schedule.nextAt), desc(schedule.createdAt), desc(schedule.id)];
        const rows = await matches.orderBy(...order).limit(limit);
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
    changeSchedule: (id, { task, timing: when, sources, nextAt }) =>
      database.query(async (orm) => {
        // Drizzle leaves a column alone whose value is undefined.
        const set = {
          task: task === undefined ? undefined : cleanText(task),
          timing: when,
          sources: sources && [...sources],
          nextAt,
        };
        const rows = await orm
          .update(schedule)
          .set(set)
          .where(eq(schedule.id, cleanText(id)))
          .returning();
        return rows.length > 0;
      }),
  } satisfies Partial<ScheduleStore>;
}

/** The part of the `ScheduleStore` that finds the schedules whose next slot has come. */
export function createDueSchedules(database: Database) {
  return {
    dueSchedules: (limit) => database.query((orm) => timed(orm, sql`${schedule.nextAt} <= now()`, limit)),
    aheadOfClock: () =>
      database.query((orm) => {
        const since = sql`coalesce(${schedule.lastAt}, ${schedule.createdAt})`;
        const isCron = sql`${schedule.timing} ->> 'kind' = 'cron'`;
        const isAhead = sql`${isCron} and ${schedule.nextAt} > now() and ${since} > now() + interval '1 second'`;
        return timed(orm, isAhead, SCHEDULE_LIMITS.total);
      }),
  } satisfies Partial<ScheduleStore>;
}

/** The schedules that match a condition with the database's time, the earliest slot first. */
async function timed(orm: Orm, condition: ReturnType<typeof sql>, limit: number) {
  const now = sql<string>`now()`.as('now');
  const matches = orm.select({ row: schedule, now }).from(schedule).where(condition);
  const rows = await matches.orderBy(asc(schedule.nextAt), asc(schedule.id)).limit(limit);
  return rows.flatMap(({ row, now }) =>
    row.nextAt === null ? [] : [{ ...toRecord(row), nextAt: row.nextAt, now: new Date(now) }],
  );
}

function toRecord(row: typeof schedule.$inferSelect): ScheduleRecord {
  return {
    ...row,
    session: asSessionKey(row.session),
    address: asSessionKey(row.address),
    timing: timing.safeParse(row.timing).data ?? UNREADABLE,
    nextAt: row.nextAt ?? undefined,
    lastAt: row.lastAt ?? undefined,
  };
}
