/** Brings the tables to this program's version, one process at a time, and refuses a database of a newer one. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import { StoreError } from '../../contracts/errors.ts';
import { connect, type DatabasePlace } from './database.ts';
import { withRetry } from './retry.ts';

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle', import.meta.url));
const JOURNAL = 'migration';
const OLDEST_POSTGRES = 15;

/**
 * Applies what is missing under an advisory lock. Throws `StoreError`: `schema_newer` when the database knows
 * migrations this program does not, `postgres_too_old`, `unavailable`.
 */
export async function migrateDatabase(
  place: DatabasePlace,
  options: { retryForMs?: number | undefined; migrationsFolder?: string } = {},
): Promise<void> {
  const folder = options.migrationsFolder ?? MIGRATIONS;
  if (!existsSync(folder))
    throw new StoreError('install_broken', `The folder ${folder} is missing; install again.`);
  const client = connect(place, 1);
  try {
    await withRetry(() => migrateUnderLock(drizzle(client), place.schema, folder), {
      ...(options.retryForMs !== undefined && { forMs: options.retryForMs }),
    });
  } finally {
    await client.end({ timeout: 0 });
  }
}

async function migrateUnderLock(orm: PostgresJsDatabase, schema: string, folder: string): Promise<void> {
  await refuseOldPostgres(orm);
  const lock = sql`hashtextextended(${`parley migration ${schema}`}, 0)`;
  await orm.execute(sql`select pg_advisory_lock(${lock})`);
  await refuseNewerSchema(orm, schema, folder);
  await migrate(orm, { migrationsFolder: folder, migrationsSchema: schema, migrationsTable: JOURNAL });
  await orm.execute(sql`select pg_advisory_unlock(${lock})`);
}

async function refuseOldPostgres(orm: PostgresJsDatabase): Promise<void> {
  const [row] = await orm.execute<{ version: number }>(
    sql`select current_setting('server_version_num')::int as version`,
  );
  const major = Math.floor((row?.version ?? 0) / 10_000);
  if (major >= OLDEST_POSTGRES) return;
  throw new StoreError(
    'postgres_too_old',
    `DATABASE_URL points at Postgres ${major}; version ${OLDEST_POSTGRES} or newer is needed.`,
  );
}

async function refuseNewerSchema(orm: PostgresJsDatabase, schema: string, folder: string): Promise<void> {
  const journal = sql`${sql.identifier(schema)}.${sql.identifier(JOURNAL)}`;
  const [exists] = await orm.execute<{ found: boolean }>(
    sql`select to_regclass(${`"${schema}"."${JOURNAL}"`}) is not null as found`,
  );
  if (exists?.found !== true) return;
  const known = new Set(readMigrationFiles({ migrationsFolder: folder }).map((file) => file.folderMillis));
  const applied = await orm.execute<{ at: string }>(sql`select created_at as at from ${journal}`);
  if (applied.every((row) => known.has(Number(row.at)))) return;
  throw new StoreError(
    'schema_newer',
    'The database was written by a newer version of this program. Install that version, or restore a backup made before the update.',
  );
}
