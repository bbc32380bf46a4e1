/** The schema version: upgraded once, by one process at a time, and never downgraded. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import journal from '../../../drizzle/meta/_journal.json' with { type: 'json' };
import { isAdditive, migrateDatabase, readJournal } from '../../../src/store/database/migrate.ts';
import { writeWhole } from '../../../src/settings/write-file.ts';
import { connect, type DatabasePlace, type Sql } from '../../../src/store/database/database.ts';
import { acceptedMigrations, acceptMigrations } from '../../../src/store/embedded/accepted-migrations.ts';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { describeStore, makeEmbeddedHome, silentLog } from '../../database.ts';

describeStore('migration', (databases) => {
  it('is applied once when several processes start together', async () => {
    const { place, sql } = await databases.open();
    const fresh = { ...place, schema: `${place.schema}_raced` };
    await Promise.all(Array.from({ length: 4 }, () => migrateDatabase(fresh)));
    const rows = await sql`select * from ${sql(fresh.schema)}.migration`;
    expect(rows).toHaveLength(journal.entries.length);
    await sql`drop schema ${sql(fresh.schema)} cascade`;
  });

  it('refuses changes that affect running gateways, and makes additive ones while they run', async () => {
    const { place, sql, lanes } = await databases.open();
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-migrations-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await cp(fileURLToPath(new URL('../../../drizzle', import.meta.url)), folder, { recursive: true });
    const add = async (tag: string, text: string): Promise<void> => {
      const file = path.join(folder, 'meta/_journal.json');
      const known: typeof journal = JSON.parse(await readFile(file, 'utf8'));
      const entry = {
        idx: known.entries.length,
        version: '7',
        when: 9_000_000_000_000 + known.entries.length,
        tag,
        breakpoints: true,
      };
      await writeFile(file, JSON.stringify({ ...known, entries: [...known.entries, entry] }));
      await writeFile(path.join(folder, `${tag}.sql`), text);
    };
    const node = await lanes.register('other', 60_000);
    await add('9000_more', 'ALTER TABLE "usage" ADD COLUMN "more" integer DEFAULT 1 NOT NULL;');
    await migrateDatabase(place, { migrationsFolder: folder });
    await add('9001_less', 'ALTER TABLE "usage" DROP COLUMN "more";');
    const changing = migrateDatabase(place, { migrationsFolder: folder, othersEndWithinMs: 1 });
    await expect(changing).rejects.toMatchObject({ code: 'gateways_run', retryable: false });
    await expect(changing).rejects.toThrow(/that 1 running gateways .* Stop them all, then start this one/);
    expect(await sql`select more from usage`).toHaveLength(0);
    await lanes.unregister(node);
    await migrateDatabase(place, { migrationsFolder: folder });
    await expect(sql`select more from usage`.execute()).rejects.toThrow('more');
    await sql`delete from migration where created_at > 9000000000000`;
  }, 60_000);

  it.each([
    ['CREATE TABLE "a" ("b" text)', true],
    ['CREATE INDEX "a" ON "b" USING btree ("c")', true],
    ['ALTER TABLE "a" ADD COLUMN "b" text', true],
    ['ALTER TABLE "a" ADD COLUMN "b" integer DEFAULT 0 NOT NULL', true],
    ['ALTER TABLE "a" ADD COLUMN "b" text NOT NULL', false],
    ['ALTER TABLE "a" ALTER COLUMN "b" SET NOT NULL', false],
    ['ALTER TABLE "a" DROP COLUMN "b"', false],
    ['ALTER TABLE "a" RENAME COLUMN "b" TO "c"', false],
    ['CREATE UNIQUE INDEX "a" ON "b" ("c")', false],
    ['UPDATE "a" SET "b" = 1', false],
  ])('considers %s additive: %s', (statement, is) => {
    expect(isAdditive(statement)).toBe(is);
  });

  it('accepts a newer database after an upgrade that went back, and no other', async () => {
    const { place, sql } = await databases.open();
    const home = await mkdtemp(path.join(tmpdir(), 'parley-accepted-'));
    onTestFinished(() => rm(home, { recursive: true }));
    await sql`insert into migration (hash, created_at) values ('added', 99999999999997), ('other', 99999999999998)`;
    acceptMigrations(home, [99_999_999_999_997], writeWhole);
    const open = () => migrateDatabase(place, { accepted: acceptedMigrations(home) });
    await expect(open()).rejects.toMatchObject({ code: 'schema_newer' });
    acceptMigrations(home, [99_999_999_999_998], writeWhole);
    await open();
    expect(await readJournal(sql, place.schema, { accepted: acceptedMigrations(home) })).toMatchObject({
      state: 'current',
    });
    await sql`delete from migration where created_at > 99999999999990`;
  });

  it('refuses a database written by a newer version', async () => {
    const { place, sql } = await databases.open();
    await sql`insert into migration (hash, created_at) values ('from the future', 99999999999999)`;
    const opening = openStoreAt(place, { log: silentLog, migrate: true });
    await expect(opening).rejects.toMatchObject({ code: 'schema_newer', retryable: false });
    await expect(opening).rejects.toThrow(/newer version/);
    // The following tests reuse the schema.
    await sql`delete from migration where hash = 'from the future'`;
  });

  it('refuses a database from before the first release, says what to do, and leaves it unchanged', async () => {
    const { place, sql } = await databases.open();
    const { opening, tables } = await openUnreleased(place, sql);
    await expect(opening).rejects.toMatchObject({ code: 'schema_unreleased', retryable: false });
    await expect(opening).rejects.toThrow(/DATABASE_URL at an empty database/);
    expect(tables).toBe(1);
  });

  it('refuses such a database of a home, and says what to do there', async () => {
    const home = await makeEmbeddedHome();
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const embedded = await openEmbedded(home, silentLog);
    onTestFinished(() => embedded.close());
    const place = { socketPath: embedded.socketPath, schema: 'public' };
    const sql = connect(place, 1);
    onTestFinished(() => sql.end());
    const { opening, tables } = await openUnreleased(place, sql);
    await expect(opening).rejects.toMatchObject({ code: 'schema_unreleased', retryable: false });
    await expect(opening).rejects.toThrow(/another GATEWAY_HOME/);
    expect(tables).toBe(1);
  });
});

/** Opens a database of the time before the first release, in a schema of its own; how that ended, and how many tables are there. */
async function openUnreleased(
  place: DatabasePlace,
  sql: Sql,
): Promise<{ opening: Promise<unknown>; tables: number }> {
  const old = { ...place, schema: `${place.schema}_old` };
  const journalOfOld = sql`${sql(old.schema)}.migration`;
  await sql`create schema ${sql(old.schema)}`;
  await sql`create table ${journalOfOld} (id serial primary key, hash text not null, created_at bigint)`;
  await sql`insert into ${journalOfOld} (hash, created_at) values ('0000_road', 1795253050798)`;
  const opening = openStoreAt(old, { log: silentLog, migrate: true });
  await opening.catch(() => undefined);
  const tables = await sql`select from information_schema.tables where table_schema = ${old.schema}`;
  await sql`drop schema ${sql(old.schema)} cascade`;
  return { opening, tables: tables.length };
}
