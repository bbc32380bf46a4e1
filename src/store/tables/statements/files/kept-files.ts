/** The files that came with messages: how much of a person's is stored here, and which ones are old. */
import type { KeptFiles } from '../../../../protocol/media.ts';
import type { Database } from '../../../database/database.ts';

/** The `KeptFiles` over a database. */
export function createKeptFiles(database: Database): KeptFiles {
  return {
    keptBytes: (userId, days) =>
      database.run(async (sql) => {
        const [row] = await sql<{ bytes: number }[]>`
          select coalesce(sum(bytes), 0)::float8 as bytes from kept_file
          where user_id = ${userId} and kept_at > now() - ${days}::float8 * interval '1 day'`;
        return row?.bytes ?? 0;
      }),
    bytesIn: (folder) =>
      database.run(async (sql) => {
        const [row] = await sql<{ bytes: number }[]>`
          select coalesce(sum(bytes), 0)::float8 as bytes from kept_file where folder = ${folder}`;
        return row?.bytes ?? 0;
      }),
    keptBetween: ({ fromDays, toDays, after, limit }) =>
      database.run(
        async (sql) =>
          await sql<{ folder: string; path: string }[]>`
            select folder, path from kept_file
            where kept_at <= now() - ${fromDays}::float8 * interval '1 day'
              and kept_at > now() - ${toDays}::float8 * interval '1 day'
              and (folder, path) > (${after.folder}, ${after.path})
            order by folder, path limit ${limit}`,
      ),
    keep: ({ folder, path, userId, bytes }) =>
      database.run(async (sql) => {
        await sql`
          insert into kept_file (folder, path, user_id, bytes) values (${folder}, ${path}, ${userId}, ${bytes})
          on conflict (folder, path) do update set kept_at = now()`;
      }),
    drop: (folder, path) =>
      database.run(async (sql) => {
        await sql`delete from kept_file where folder = ${folder} and path = ${path}`;
      }),
    forgetOlderFiles: (days, limit) =>
      database.run(async (sql) => {
        const gone = await sql`
          delete from kept_file where (folder, path) in (
            select folder, path from kept_file
            where kept_at <= now() - ${days}::float8 * interval '1 day' limit ${limit})
          returning path`;
        return gone.length;
      }),
  };
}
