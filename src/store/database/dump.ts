/** Reads all rows as of one point in time, while others write. */
import { type BackupRecord, SESSIONS_FOLDER } from '../../protocol/operator/backup.ts';
import { connectOnce, type DatabasePlace, type Sql, waitWithoutEnd } from './database.ts';
import { runOnce } from './retry.ts';

/** Tables that describe running processes, are created again, only serve to undo turns, or (session files) are files in a backup. */
const LEFT_OUT = [
  'migration',
  'node',
  'node_settings',
  'node_status',
  'mcp_status',
  'fanout_secret',
  'session_file',
  'earlier_content',
  'session_folder',
];

/** A column whose values are stored. */
export interface Column {
  name: string;
  /** In the form that Postgres uses after `::`. */
  type: string;
  isIdentity: boolean;
}

/** Rows fetched at once, and characters in one record (a single row may be longer): more would block the event loop. */
const FETCHED_ROWS = 100;
const RECORD_CHARS = 64 * 1024;

/** All rows, then the shared session files, from one snapshot, in constant memory. Throws `StoreError`. */
export async function* dumpDatabase(place: DatabasePlace): AsyncGenerator<BackupRecord> {
  const client = connectOnce({ ...place, applicationName: 'parley backup' });
  try {
    await waitWithoutEnd(client);
    await client`begin isolation level repeatable read read only`;
    // The text form of timestamps and numbers must not depend on settings.
    await client`set local timezone = 'UTC'`;
    await client`set local extra_float_digits = 1`;
    for (const [table, columns] of await tablesOf(client, place.schema)) {
      yield { type: 'table', table, columns: columns.map(({ name }) => name) };
      // A lane that a gateway is working on now is free in the backup: that gateway will not exist there.
      const values = columns.map(({ name }) =>
        table === 'lane' && (name === 'owner' || name === 'claim') ? 'null' : `${quoted(name)}::text`,
      );
      const query = `select json_build_array(${values.join(', ')})::text as row from ${quoted(table)}`;
      for await (const rows of batches(fetchAll<{ row: string }>(client, query)))
        yield { type: 'rows', rows };
    }
    // The embedded database shares no files: its files are only in the home.
    if (place.socketPath === undefined) yield* sessionFiles(client);
    await client`commit`;
  } catch (error) {
    // Any statement may be the one under way when the connection is lost.
    await runOnce(() => Promise.reject(error));
  } finally {
    await client.end({ timeout: 0 });
  }
}

/** All rows of a query, fetched a few at a time. */
async function* fetchAll<Row extends object>(sql: Sql, query: string): AsyncGenerator<Row> {
  await sql.unsafe(`declare dump no scroll cursor for ${query}`);
  for (;;) {
    const rows = await sql.unsafe<Row[]>(`fetch ${FETCHED_ROWS} from dump`);
    yield* rows;
    if (rows.length < FETCHED_ROWS) break;
  }
  await sql`close dump`;
}

async function* batches(rows: AsyncIterable<{ row: string }>): AsyncGenerator<(string | null)[][]> {
  let batch: (string | null)[][] = [];
  let chars = 0;
  for await (const { row } of rows) {
    // Written by the query, from texts only.
    const values: (string | null)[] = JSON.parse(row);
    batch.push(values);
    chars += row.length;
    if (chars < RECORD_CHARS) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

async function* sessionFiles(sql: Sql): AsyncGenerator<BackupRecord> {
  const names = fetchAll<{ folder: string; path: string }>(
    sql,
    'select folder, path from session_file order by 1, 2',
  );
  const all: { folder: string; path: string }[] = [];
  for await (const name of names) all.push(name);
  for (const { folder, path } of all) {
    const [row] = await sql<{ base64: string }[]>`
      select encode(bytes, 'base64') as base64 from session_file where folder = ${folder} and path = ${path}`;
    yield { type: 'file', path: `${SESSIONS_FOLDER}/${folder}/${path}`, mode: 0o600 };
    yield { type: 'bytes', base64: (row?.base64 ?? '').replaceAll('\n', '') };
  }
}

/** The tables of a schema with their columns, by name; computed columns are left out. */
export async function tablesOf(sql: Sql, schema: string): Promise<Map<string, Column[]>> {
  const rows = await sql<({ table: string } & Column)[]>`
    select relname as table, attname as name, format_type(atttypid, atttypmod) as type, attidentity <> '' as "isIdentity"
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace join pg_attribute on attrelid = pg_class.oid
    where nspname = ${schema} and relkind = 'r' and attnum > 0 and not attisdropped and attgenerated = ''
    order by relname, attnum`;
  const tables = new Map<string, Column[]>();
  for (const { table, ...column } of rows) {
    if (!LEFT_OUT.includes(table)) tables.set(table, [...(tables.get(table) ?? []), column]);
  }
  return tables;
}

/** A quoted name for SQL text. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
