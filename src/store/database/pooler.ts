/** Whether connections to the database are its own, or those of a pooler that gives them to others between two transactions. */
import { StoreError } from '../../protocol/errors.ts';
import { connect, type DatabasePlace } from './database.ts';

/** How often two connections are compared: a busy pooler seldom gives the same one to both. */
const COMPARED = 3;

/**
 * Throws `StoreError`: `pooler_mode` for a pooler that keeps no session (its connections lose prepared statements, locks and
 * LISTEN), `pooler_settings` for one that drops what a connection is set to, `unavailable`.
 */
export async function refusePooler(place: DatabasePlace): Promise<void> {
  // Unprepared: a prepared statement would already be lost.
  const clients = [connect(place, 1, { prepare: false }), connect(place, 1, { prepare: false })];
  try {
    const owners = new Map<number, number>();
    let hasSettings = true;
    for (let n = 0; n < COMPARED; n += 1) {
      for (const [index, client] of clients.entries()) {
        const [row] = await client<SessionRow[]>`
          select pg_backend_pid() as pid, current_setting('search_path') as path,
            current_setting('statement_timeout') as timeout`;
        if (row === undefined) continue;
        if ((owners.get(row.pid) ?? index) !== index)
          throw new StoreError('pooler_mode', IN_TRANSACTION_MODE);
        owners.set(row.pid, index);
        hasSettings &&= row.timeout !== '0' && row.path.replaceAll('"', '') === place.schema;
      }
    }
    if (!hasSettings) throw new StoreError('pooler_settings', dropsSettings(place.schema));
  } finally {
    await Promise.all(clients.map((client) => client.end({ timeout: 0 })));
  }
}

interface SessionRow {
  pid: number;
  path: string;
  timeout: string;
}

const IN_TRANSACTION_MODE =
  'DATABASE_URL leads to a pooler in transaction mode. Parley needs session mode (pool_mode = session), or the server itself: it uses LISTEN and prepared statements.';

function dropsSettings(schema: string): string {
  return `DATABASE_URL leads to a pooler that drops search_path and statement_timeout of a connection. Set them for its role: ALTER ROLE name SET search_path = "${schema}"; ALTER ROLE name SET statement_timeout = '30s'`;
}
