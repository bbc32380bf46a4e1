/** Migrates the tables to this program's version, one process at a time, and refuses a database with unknown migrations. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StoreError } from '../../protocol/errors.ts';
import type { StartProgress } from '../../protocol/log.ts';
import { serverOf } from '../../lib/connection-url.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { connect, type DatabasePlace, type Sql } from './database.ts';
import { drizzle, migrate, readMigrationFiles } from './drizzle.ts';
import { refusePooler } from './pooler.ts';
import { withRetry } from './retry.ts';

/** How long a start waits for the leases of dead gateways to expire, and how often it checks, in milliseconds. */
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
 * Applies missing migrations under an advisory lock. Throws `StoreError`: `schema_newer`, `schema_unreleased` (created
 * before the first release), `gateways_run` (others use what would change), `postgres_too_old`, `pooler_mode`, `pooler_settings`, `pooler_refused`,
 * `unavailable`.
 */
export async function migrateDatabase(
  place: DatabasePlace,
  options: {
    retryForMs?: number | undefined;
    migrationsFolder?: string;
    /** Unknown migrations that are no reason to refuse the database: see `acceptedMigrations`. */
    accepted?: readonly number[] | undefined;
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
    const prepare = async (): Promise<void> => {
      if (place.url !== undefined) await refusePooler(place);
      await migrateUnderLock(client, place, folder, options);
    };
    await withRetry(prepare, {
      forMs: options.retryForMs,
      server: place.url === undefined ? undefined : serverOf(place.url),
      onWait: waitReporter(place, options.progress),
    });
  } finally {
    await client.end({ timeout: 0 });
  }
}

/** Reports every few seconds what it is waiting for, once a wait has lasted a second. */
function waitReporter({ url }: DatabasePlace, progress: StartProgress | undefined) {
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

/**
 * How the migrations of another version's folder differ from this program's: those that only it has, those that only this program has, and
 * whether all of these only add.
 */
export function compareMigrations(folder: string): { theirs: number[]; own: number[]; isAdditive: boolean } {
  const [others, known] = [folder, MIGRATIONS].map((one) => readMigrationFiles({ migrationsFolder: one }));
  const theirs = without(others ?? [], known ?? []);
  const own = without(known ?? [], others ?? []);
  return {
    theirs: theirs.map(({ folderMillis }) => folderMillis),
    own: own.map(({ folderMillis }) => folderMillis),
    isAdditive: [...theirs, ...own].every(({ sql }) => sql.every(isAdditive)),
  };
}

type MigrationFiles = ReturnType<typeof readMigrationFiles>;

function without(files: MigrationFiles, others: MigrationFiles): MigrationFiles {
  return files.filter(({ folderMillis: at }) => others.every(({ folderMillis }) => folderMillis !== at));
}

/** The timestamps by which the journal identifies this program's migrations, oldest first. */
export function knownMigrations(folder = MIGRATIONS): number[] {
  return readMigrationFiles({ migrationsFolder: folder }).map((file) => file.folderMillis);
}

async function migrateUnderLock(
  sql: ReturnType<typeof connect>,
  place: DatabasePlace,
  folder: string,
  { othersEndWithinMs, accepted }: { othersEndWithinMs?: number; accepted?: readonly number[] | undefined },
): Promise<void> {
  const { schema } = place;
  await refuseOldPostgres(sql);
  const lock = sql`hashtextextended(${`parley migration ${schema}`}, 0)`;
  await sql`select pg_advisory_lock(${lock})`;
  const missing = await missingStatements(sql, place, folder, accepted);
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
 * How a database's journal compares with the migrations of this program, and the times of those applied. Changes
 * nothing.
 */
export async function readJournal(
  sql: Sql,
  schema: string,
  { folder = MIGRATIONS, accepted = [] }: { folder?: string; accepted?: readonly number[] | undefined } = {},
) {
  const [journal] = await sql<{ found: boolean }[]>`
    select to_regclass(${`"${schema}"."${JOURNAL}"`}) is not null as found`;
  if (journal?.found !== true) return { state: 'none', applied: [] } as const;
  const migrations = knownMigrations(folder);
  const rows = await sql<{ at: string }[]>`select created_at as at from ${sql(schema)}.${sql(JOURNAL)}`;
  const applied = rows.map(({ at }) => Number(at));
  const unknown = applied.filter((at) => !migrations.includes(at) && !accepted.includes(at));
  if (unknown.length === 0) {
    const isBehind = migrations.some((at) => !applied.includes(at));
    return { state: isBehind ? 'behind' : 'current', applied } as const;
  }
  const isOlder = Math.min(...unknown) < Math.min(...migrations);
  return { state: isOlder ? 'unreleased' : 'newer', applied } as const;
}

/** The statements that bring this database up to date. Throws `StoreError` if it has a migration unknown to this version. */
async function missingStatements(
  sql: Sql,
  place: DatabasePlace,
  folder: string,
  accepted: readonly number[] | undefined,
): Promise<string[]> {
  const { state, applied } = await readJournal(sql, place.schema, { folder, accepted });
  if (state === 'none') return [];
  if (state === 'unreleased') throw unreleased(place);
  if (state === 'newer')
    throw new StoreError(
      'schema_newer',
      'The database was written by a newer version of this program. Install that version, or restore a backup made before the update.',
    );
  const missing = readMigrationFiles({ migrationsFolder: folder }).filter(
    ({ folderMillis }) => !applied.includes(folderMillis),
  );
  return missing.flatMap((migration) => migration.sql);
}

function unreleased({ socketPath }: DatabasePlace): StoreError {
  const remedy =
    socketPath === undefined
      ? 'Point DATABASE_URL at an empty database.'
      : 'Start with another GATEWAY_HOME, or move its folder pg/ away.';
  return new StoreError(
    'schema_unreleased',
    `The database was created by a version from before the first release, which cannot be upgraded. Nothing was changed. ${remedy}`,
  );
}

/** True for a statement that does not affect gateways of the previous version. */
export function isAdditive(statement: string): boolean {
  const text = statement.trim();
  return text === '' || ADDITIVE.some((form) => form.test(text));
}

/**
 * Waits for other gateways to end, because these statements change their tables; statements that only add need no
 * wait. Throws `StoreError('gateways_run')` after `withinMs`.
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
        `This version changes tables that ${live} running gateways of the previous version use. Stop them all, then start this one. Nothing was changed.`,
      );
    await sleep(LOOK_MS);
  }
}
