/**
 * How a test gets a store. `describeEachDatabase(name, (databases) => { … databases.open() … })` runs its tests on the embedded
 * database (unless ONLY_DATABASE=postgres), and on Postgres when DATABASE_URL is set. Every `open()` gives a store with empty tables in a schema
 * of its own (one embedded server serves the whole file); `open({ beside })` gives a second store on the same tables,
 * as a second node has it. Stores are closed after each test; the schemas of a test that passed are dropped.
 */
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import project from '../package.json' with { type: 'json' };
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { Log } from '../src/contracts/log.ts';
import { createLog } from '../src/ops/log.ts';
import { openEmbedded, type EmbeddedDatabase } from '../src/store/embedded/embedded.ts';
import { newId } from '../src/lib/ids.ts';
import type { SessionStart } from '../src/contracts/records.ts';
import { openStoreAt, type Store } from '../src/store/store.ts';
import type { DatabasePlace } from '../src/store/database/database.ts';

const TEMPLATES = fileURLToPath(new URL('.tmp', import.meta.url));

/** A log that says nothing. */
export const silentLog: Log = createLog({ level: 'silent', redact: (text) => text });

/** A store under test, and where its tables are. */
export interface TestStore extends Store {
  place: DatabasePlace;
  /** Runs SQL on the same tables, for looking at what no word shows. */
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

export function describeEachDatabase(name: string, tests: (databases: TestDatabases) => void): void {
  describe.skipIf(process.env['ONLY_DATABASE'] === 'postgres')(`${name} [embedded]`, () => {
    tests(testDatabases('embedded'));
  });
  describe.skipIf(process.env.DATABASE_URL === undefined)(`${name} [postgres]`, () => {
    tests(testDatabases('postgres'));
  });
}

function testDatabases(kind: Store['kind']): TestDatabases {
  let server: Pick<DatabasePlace, 'url' | 'socketPath'> = {};
  let embedded: EmbeddedDatabase | undefined;
  let home: string | undefined;
  const opened: TestStore[] = [];

  beforeAll(async () => {
    if (kind === 'postgres') {
      server = { url: process.env.DATABASE_URL };
      return;
    }
    home = await makeEmbeddedHome();
    embedded = await openEmbedded(home, silentLog);
    server = { socketPath: embedded.socketPath };
  });

  afterEach(async ({ task }) => {
    const schemas = new Set(opened.map((store) => store.place.schema));
    for (const store of opened) await store.close();
    const admin = opened[0]?.sql;
    if (admin !== undefined && task.result?.state !== 'fail') {
      for (const schema of schemas) await admin`drop schema if exists ${admin(schema)} cascade`;
    }
    for (const store of opened.splice(0)) await store.sql.end();
  });

  afterAll(async () => {
    await embedded?.close();
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  });

  return {
    kind,
    async open({ beside, place: change, retryForMs, newSessions } = {}) {
      const schema = beside?.place.schema ?? `test_${newId().replaceAll('-', '')}`;
      const place = { ...server, schema, applicationName: schema, ...change };
      const options = { log: silentLog, retryForMs, newSessions, migrate: beside === undefined };
      const store = await openStoreAt(place, options);
      const sql = connectForTest({ ...server, schema });
      const test = { ...store, place, sql };
      opened.push(test);
      return test;
    },
  };
}

/** A fresh home with an empty embedded database: initdb takes seconds, so it runs once and is copied from then on. */
export async function makeEmbeddedHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  const template = path.join(TEMPLATES, `pg-${project.dependencies['@electric-sql/pglite']}`);
  if (!existsSync(template)) {
    const embedded = await openEmbedded(home, silentLog);
    await embedded.close();
    await mkdir(TEMPLATES, { recursive: true });
    const half = `${template}.${newId()}`;
    await cp(path.join(home, 'pg'), half, { recursive: true });
    // Of two processes that made it at once, the second finds it there: either copy is as good.
    await rename(half, template).catch(() => rm(half, { recursive: true, force: true }));
    return home;
  }
  await cp(template, path.join(home, 'pg'), { recursive: true });
  return home;
}

function connectForTest(place: DatabasePlace): postgres.Sql {
  const options = {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { search_path: `"${place.schema}"` },
  };
  return place.socketPath === undefined
    ? postgres(place.url ?? '', options)
    : postgres({ ...options, path: place.socketPath, user: 'postgres' });
}
