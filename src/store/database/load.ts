/** Loads the rows of a backup into a database: all of them, or none. */
import { createHash } from 'node:crypto';
import { StoreError } from '../../protocol/errors.ts';
import { connectOnce, type DatabasePlace, type Sql, waitWithoutEnd } from './database.ts';
import { type Column, quoted, tablesOf } from './dump.ts';
import { runOnce } from './retry.ts';

/** A database that is being filled, in one transaction. */
export interface Loading {
  /** The table of the following rows. Throws `StoreError('bad_backup')` if this version has no such table or columns. */
  table(name: string, columns: readonly string[]): void;
  rows(rows: readonly (readonly (string | null)[])[]): Promise<void>;
  /** A session file, for the other nodes of the database; only where nodes share files. */
  sessionFile(folder: string, path: string, bytes: Buffer): Promise<void>;
  /** Commits. */
  finish(): Promise<void>;
  /** Ends the connection; without `finish` the database stays unchanged. Never throws. */
  close(): Promise<void>;
}

/** Throws `StoreError`: `has_data` if rows would be lost without `replace`, `in_use` while a gateway is running. */
export async function beginLoading(
  place: DatabasePlace,
  { replace }: { replace: boolean },
): Promise<Loading> {
  const sql = connectOnce({ ...place, applicationName: 'parley restore' });
  try {
    return await runOnce(() => begin(sql, place, replace));
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
}

async function begin(
  sql: ReturnType<typeof connectOnce>,
  place: DatabasePlace,
  replace: boolean,
): Promise<Loading> {
  await waitWithoutEnd(sql);
  await sql`begin`;
  await sql`set local timezone = 'UTC'`;
  const tables = await tablesOf(sql, place.schema);
  await refuseInUse(sql);
  const names = [...tables.keys()].map(quoted).join(', ');
  await sql.unsafe(`lock table ${names} in access exclusive mode`);
  if (!replace) await refuseData(sql, [...tables.keys()]);
  await sql`create temporary table revoked_token on commit drop as select * from token where revoked_at is not null`;
  await sql.unsafe(`truncate ${names}, session_file, session_folder`);
  const sharesFiles = place.socketPath === undefined;
  let insert = '';
  return {
    table(name, columns) {
      const tableColumns = tables.get(name);
      if (tableColumns === undefined || tableColumns.map((column) => column.name).join() !== columns.join())
        throw new StoreError('bad_backup', `Table ${name} in the backup does not match this version.`);
      insert = insertInto(name, tableColumns);
    },
    rows: (rows) => runOnce(async () => void (await sql.unsafe(insert, [JSON.stringify(rows)]))),
    async sessionFile(folder, path, bytes) {
      if (!sharesFiles) return;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await runOnce(
        async () =>
          await sql`
        with shared as (
          insert into session_folder (folder, version) select ${folder}, 1 where exists (select from session where folder = ${folder})
          on conflict (folder) do update set version = session_folder.version returning folder)
        insert into session_file (folder, path, sha256, bytes) select folder, ${path}, ${sha256}, ${bytes} from shared`,
      );
    },
    finish: () =>
      runOnce(async () => {
        for (const [table, columns] of tables)
          for (const { name, isIdentity } of columns) if (isIdentity) await countOn(sql, table, name);
        await keepRevoked(sql);
        await sql`commit`;
      }),
    close: () => sql.end({ timeout: 0 }),
  };
}

/** What was revoked since the backup stays revoked. Which browsers were signed out is not known: all sign in again. */
async function keepRevoked(sql: Sql): Promise<void> {
  await sql`
    update token set revoked_at = revoked.revoked_at from revoked_token revoked
    where token.revoked_at is null and (token.hash = revoked.hash or token.id = revoked.id)`;
  await sql`
    insert into token select * from revoked_token revoked
    where not exists (select from token where token.hash = revoked.hash or token.id = revoked.id)`;
  await sql`delete from sign_in`;
}

function insertInto(table: string, columns: readonly Column[]): string {
  const names = columns.map(({ name }) => quoted(name)).join(', ');
  const values = columns.map(({ type }, index) => `(value->>${index})::${type}`).join(', ');
  return `insert into ${quoted(table)} (${names}) overriding system value
    select ${values} from jsonb_array_elements(($1::text)::jsonb)`;
}

/** Sets the column's sequence to continue after the largest value. */
async function countOn(sql: Sql, table: string, column: string): Promise<void> {
  await sql.unsafe(
    `select setval(pg_get_serial_sequence($1, $2), coalesce(max(${quoted(column)}), 1), max(${quoted(column)}) is not null)
     from ${quoted(table)}`,
    [quoted(table), column],
  );
}

async function refuseInUse(sql: Sql): Promise<void> {
  const [row] = await sql<
    { many: number }[]
  >`select count(*)::int as many from node where lease_until > now()`;
  if (row === undefined || row.many === 0) return;
  const text = `${row.many} gateways are running with this database. Stop them first (after a crash, wait ten seconds).`;
  throw new StoreError('in_use', text);
}

async function refuseData(sql: Sql, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const [row] = await sql.unsafe(`select 1 from ${quoted(table)} limit 1`);
    if (row === undefined) continue;
    const text =
      'This database holds data, which a restore would delete. Back it up, then restore with --replace.';
    throw new StoreError('has_data', text);
  }
}
