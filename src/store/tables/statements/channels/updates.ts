/** Updates that platforms posted to webhooks. */
import { KEPT_UPDATE_HOURS, MAX_WAITING_UPDATES, type UpdateStore } from '../../../../protocol/receive.ts';
import type { Database } from '../../../database/database.ts';

/** The `UpdateStore` over a database. */
export function createUpdates(database: Database): UpdateStore {
  return {
    storeUpdate: (bot, { id, update }) =>
      database.run(async (sql, attempt) => {
        const stored = await sql`
          insert into platform_update (bot, id, body)
          select ${bot}, ${id}::bigint, ${JSON.stringify(update)}
          where (select count(*) from (
            select from platform_update where bot = ${bot} and body is not null limit ${MAX_WAITING_UPDATES}) w
          ) < ${MAX_WAITING_UPDATES}
          on conflict do nothing returning id`;
        if (stored.length > 0) return 'stored';
        const known = await sql`select from platform_update where bot = ${bot} and id = ${id}::bigint`;
        if (known.length === 0) return 'full';
        // The previous attempt may have stored it.
        return attempt === 0 ? 'repeated' : 'stored';
      }),
    waitingUpdates: (bot, limit) =>
      database.run(async (sql) => {
        const rows = await sql<{ id: string; body: string }[]>`
          select id, body from platform_update where bot = ${bot} and body is not null order by id limit ${limit}`;
        return rows.map(({ id, body }) => ({ id: Number(id), update: JSON.parse(body) }));
      }),
    finishUpdates: (bot, ids) =>
      database.run(async (sql) => {
        await sql`update platform_update set body = null where bot = ${bot} and id in ${sql([...ids])}`;
        await sql`
          delete from platform_update where bot = ${bot} and body is null
            and at < now() - make_interval(hours => ${KEPT_UPDATE_HOURS})`;
      }),
  };
}
