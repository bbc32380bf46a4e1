/** Migrates the tables to this program's version, one process at a time, and refuses a database with unknown migrations. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StoreError } from '../../protocol/errors.ts';
import type { StartProgress } from '../../protocol/log.ts';
import { serverOf } from '../../lib/connection-url.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { connect, type DatabasePlace, type Sql } from './database.ts';
import { drizzle, migrate, readMigrationFiles } from './drizzle.ts';
import { withRetry } from './retry.ts';

/**
 * Gateways that died keep their lease for ten seconds; how long the start waits, and how often it checks, in
 * milliseconds.
 */
const LEASE_ENDS_MS = 12_000;

const LOOK_MS = 500;

const ADDITIVE = [
  /^create table /i,
  /^create index /i,
  // A column that statements of the previous version do not name must be nullable or have a default.
  /^alter table \S+ add column (?!.*\bnot null\b)/is,
  /^alter table \S+ add column .*\bdefault\b/is,
  // The columns that these statements name may only become less restricted, not more.
  /^alter table \S+ alter column \S+ (drop not null|set default )/i,
];

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle', import.meta.url));
const JOURNAL = 'migration';
const OLDEST_POSTGRES = 15;
/** When a wait for the server is first reported, and how often after that, in milliseconds. */
const FIRST_WAIT_MS = 900;
const WAIT_REPORTED_MS = 5_000;

/**
 * Applies missing migrations under an advisory lock. Throws `StoreError`: `schema_newer` if a newer version has migrated
 * the database, `schema_unreleased` if a version before the first release created it, `gateways_run` if others use what
 * would change, `postgres_too_old`, `unavailable`.
 */
export async function migrateDatabase(
  place: DatabasePlace,
  options: {
    retryForMs?: number | undefined;
    migrationsFolder?: string;
    /** How long other gateways may take to end if their tables change, in milliseconds. */
    othersEndWithinMs?: number;
    progress?: StartProgress | undefined;
  } = {},
): Promise<void> {
  const folder = options.migrationsFolder ?? MIGRATIONS;
  if (!existsSync(folder))
    throw new StoreError('install_broken', `The folder ${folder} is missing; install again.`);
  const client = connect(place, 1);
  try {
    await withRetry(() => migrateUnderLock(client, place, folder, options.othersEndWithinMs), {
      ...(options.retryForMs !== undefined && { forMs: options.retryForMs }),
      server: place.url === undefined ? undefined : serverOf(place.url),
      onWait: waitTeller(place, options.progress),
    });
  } finally {
    await client.end({ timeout: 0 });
  }
}

/** Reports every few seconds what it is waiting for, once a wait has lasted a second. */
function waitTeller({ url }: DatabasePlace, progress: StartProgress | undefined) {
  const since = performance.now();
  let reportedAt = since + FIRST_WAIT_MS - WAIT_REPORTED_MS;
  return (code: string, leftMs: number): void => {
    const now = performance.now();
    if (url === undefined || now - reportedAt < WAIT_REPORTED_MS) return;
    reportedAt = now;
    const seconds = Math.max(1, Math.round(leftMs / 1_000));
    progress?.tell(`Waiting for Postgres at ${serverOf(url)} (${code}), ${seconds} s left`);
  };
}

/** The timestamps by which the journal identifies this program's migrations, oldest first. */
export function knownMigrations(folder = MIGRATIONS): number[] {
  return readMigrationFiles({ migrationsFolder: folder }).map((file) => file.folderMillis);
}

async function migrateUnderLock(
  sql: ReturnType<typeof connect>,
  place: DatabasePlace,
  folder: string,
  othersEndWithinMs?: number,
): Promise<void> {
  const { schema } = place;
  await refuseOldPostgres(sql);
  const lock = sql`hashtextextended(${`parley migration ${schema}`}, 0)`;
  await sql`select pg_advisory_lock(${lock})`;
  const missing = await missingStatements(sql, place, folder);
  await refuseBesideOthers(sql, schema, missing, othersEndWithinMs);
  await migrate(drizzle(sql), {
    migrationsFolder: folder,
    migrationsSchema: schema,
    migrationsTable: JOURNAL,
  });
  await sql`select pg_advisory_unlock(${lock})`;
}

async function refuseOldPostgres(sql: Sql): Promise<void> {
  const [row] = await sql<{ version: number }[]>`
    select current_setting('server_version_num')::int as version`;
  const major = Math.floor((row?.version ?? 0) / 10_000);
  if (major >= OLDEST_POSTGRES) return;
  throw new StoreError(
    'postgres_too_old',
    `DATABASE_URL points at Postgres ${major}; version ${OLDEST_POSTGRES} or newer is needed.`,
  );
}

/**
 * The statements that bring this database up to date. Changes nothing in a database whose journal contains a
 * migration that this program does not have: throws `StoreError`.
 */
async function missingStatements(sql: Sql, place: DatabasePlace, folder: string): Promise<string[]> {
  const { schema } = place;
  const [exists] = await sql<{ found: boolean }[]>`
    select to_regclass(${`"${schema}"."${JOURNAL}"`}) is not null as found`;
  if (exists?.found !== true) return [];
  const migrations = knownMigrations(folder);
  const applied = await sql<{ at: string }[]>`
    select created_at as at from ${sql(schema)}.${sql(JOURNAL)}`;
  const times = applied.map((row) => Number(row.at));
  const unknown = times.filter((at) => !migrations.includes(at));
  if (unknown.length === 0) {
    const missing = readMigrationFiles({ migrationsFolder: folder }).filter(
      ({ folderMillis }) => !times.includes(folderMillis),
    );
    return missing.flatMap((migration) => migration.sql);
  }
  if (Math.min(...unknown) < Math.min(...migrations)) throw unreleased(place);
  throw new StoreError(
    'schema_newer',
    'The database was written by a newer version of this program. Install that version, or restore a backup made before the update.',
  );
}

function unreleased({ socketPath }: DatabasePlace): StoreError {
  const remedy =
    socketPath === undefined
      ? 'Point DATABASE_URL at an empty database.'
      : 'Start with another GATEWAY_HOME, or move its folder pg/ away.';
  return new StoreError(
    'schema_unreleased',
    `The database was made by a version from before the first release, which cannot be upgraded; it was left as it is. ${remedy}`,
  );
}

/** True for a statement that does not affect gateways of the previous version. */
export function isAdditive(statement: string): boolean {
  const text = statement.trim();
  return text === '' || ADDITIVE.some((form) => form.test(text));
}

/**
 * Waits while other gateways run with the database, and throws `StoreError('gateways_run')` if they do not end within
 * `withinMs`: the given statements change what they use. Statements that only add may run at the same time.
 */
async function refuseBesideOthers(
  sql: Sql,
  schema: string,
  statements: readonly string[],
  withinMs = LEASE_ENDS_MS,
): Promise<void> {
  if (statements.every(isAdditive)) return;
  const [table] = await sql<{ found: boolean }[]>`
    select to_regclass(${`"${schema}"."node"`}) is not null as found`;
  if (table?.found !== true) return;
  const until = performance.now() + withinMs;
  for (;;) {
    const [row] = await sql<{ live: number }[]>`
      select count(*)::int as live from ${sql(schema)}.node where lease_until > now()`;
    const live = row?.live ?? 0;
    if (live === 0) return;
    if (performance.now() > until)
      throw new StoreError(
        'gateways_run',
        `This version changes tables that the ${live} running gateways of the previous version use, so they cannot run side by side: stop them all, then start this one. Nothing was changed.`,
      );
    await sleep(LOOK_MS);
  }
}
