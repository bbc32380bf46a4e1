/** Calls of webhooks that are known for longer than their messages. */
import { HOOK_CALL_DAYS, type HookCallStore } from '../../protocol/operator/webhooks.ts';
import type { Database } from '../database/database.ts';

/** The `HookCallStore` over a database. */
export function createHookCalls(database: Database): HookCallStore {
  return {
    hasCall: (id) =>
      database.run(async (sql) => (await sql`select from hook_call where id = ${id}`).length > 0),
    noteCall: (id) =>
      database.run(async (sql) => {
        await sql`insert into hook_call (id) values (${id}) on conflict do nothing`;
      }),
    purgeCalls: (limit) =>
      database.count(
        (sql) => sql`
          delete from hook_call where id in (
            select id from hook_call where called_at < now() - ${HOOK_CALL_DAYS}::float8 * interval '1 day'
            limit ${limit}) returning id`,
      ),
  };
}
