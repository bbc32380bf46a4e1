/** Rows that operators view and delete, regardless of who owns them. */
import type { AdministrationStore, ListedMemory } from '../../../protocol/operator/administration.ts';
import { cleanText } from '../../../lib/text.ts';
import type { Database } from '../../database/database.ts';

type MemoryRow = Omit<ListedMemory, 'id' | 'createdAt'> & { id: string; createdAt: string };

/** The `AdministrationStore` over a database. */
export function createAdministrationStore(database: Database): AdministrationStore {
  return {
    allMemories: ({ userId, before, limit }) =>
      database.run(async (sql) => {
        const ofUser = userId === undefined ? sql`true` : sql`user_id = ${cleanText(userId)}`;
        const older = before === undefined ? sql`true` : sql`id < ${before}`;
        const rows = await sql<MemoryRow[]>`
          select id, user_id as "userId", content as text, session, untrusted, created_at as "createdAt"
          from memory where ${ofUser} and ${older} order by id desc limit ${limit}`;
        return rows.map((row) => ({ ...row, id: Number(row.id), createdAt: new Date(row.createdAt) }));
      }),
    removeMemory: (id) =>
      database.run(async (sql, attempt) => {
        const gone = await sql`delete from memory where id = ${id} returning id`;
        // On a repeat, the previous attempt may have removed it.
        return gone.length > 0 || attempt > 0;
      }),
    dropDeadLetter: (lane, seq) =>
      database.run(async (sql, attempt) => {
        const gone = await sql`
          delete from lane_item where lane = ${cleanText(lane)} and seq = ${seq} and dead returning seq`;
        return gone.length > 0 || attempt > 0;
      }),
  };
}
