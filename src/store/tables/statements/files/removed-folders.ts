/** The folders of deleted sessions. */
import type { RemovedFolders } from '../../../../protocol/store/ledger.ts';
import type { Database } from '../../../database/database.ts';

/** The `RemovedFolders` over a database. */
export function createRemovedFolders(database: Database): RemovedFolders {
  return {
    removedFolders: ({ withinMs, after, limit }) =>
      database.run(async (sql) => {
        const rows = await sql<{ folder: string }[]>`
          select folder from removed_folder
          where removed_at > now() - ${withinMs}::float8 * interval '1 millisecond' and folder > ${after}
          order by folder limit ${limit}`;
        return rows.map(({ folder }) => folder);
      }),
  };
}
