/** Old data: sessions that are no longer used, and old turns of those that are. */
import type { RetentionStore } from '../../../protocol/operator/backup.ts';
import type { Database } from '../../database/database.ts';
import { deleteIdleSession, unusedFor } from '../delete-session.ts';
import { asSessionKey } from '../../tables/session-rows.ts';

/** The `RetentionStore` over a database. */
export function createRetentionStore(database: Database): RetentionStore {
  return {
    idleSessions: (days, limit) =>
      database.run(async (sql) => {
        const rows = await sql<{ key: string }[]>`
          select s.key from session s where ${unusedFor(sql, days)}
          order by s.updated_at, s.key limit ${limit}`;
        return rows.map(({ key }) => asSessionKey(key));
      }),
    deleteIdle: (key, days) => deleteIdleSession(database, key, days),
    purgeTurns: (days, limit) =>
      database.run(async (sql) => {
        const [row] = await sql<{ purged: number }[]>`
          with old as (
            select t.id, t.session from turn t join session s on s.key = t.session and not s.pinned
            where t.state = 'done' and t.ended_at < now() - ${days}::float8 * interval '1 day'
              and not exists (select from plan where plan.turn_id = t.id)
            order by t.ended_at limit ${limit}),
          messages as (delete from message m using old where m.session = old.session and m.turn_id = old.id),
          known as (delete from context where turn_id in (select id from old)),
          asked as (delete from approval where turn_id in (select id from old)),
          traced as (delete from turn_trace where turn_id in (select id from old)),
          ran as (
            delete from schedule_run where id in (
              select id from schedule_run where at < now() - ${days}::float8 * interval '1 day' order by at limit ${limit})),
          shown as (delete from delivery where ref in (select id from old)),
          gone as (delete from turn where id in (select id from old) returning id)
          select count(*)::int as purged from gone`;
        return row?.purged ?? 0;
      }),
  };
}
