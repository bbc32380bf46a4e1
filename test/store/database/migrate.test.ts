/** The tables' version: brought up once, by one process at a time, and never down. */
import { expect, it } from 'vitest';
import journal from '../../../drizzle/meta/_journal.json' with { type: 'json' };
import { migrateDatabase } from '../../../src/store/database/migrate.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { describeEachDatabase, silentLog } from '../../database.ts';

describeEachDatabase('migration', (databases) => {
  // Beside the embedded database there is no second process: the home's lock keeps it out.
  it.skipIf(databases.kind === 'embedded')(
    'is applied once when several processes start together',
    async () => {
      const { place, sql } = await databases.open();
      const fresh = { ...place, schema: `${place.schema}_raced` };
      await Promise.all(Array.from({ length: 4 }, () => migrateDatabase(fresh)));
      const rows = await sql`select * from ${sql(fresh.schema)}.migration`;
      expect(rows).toHaveLength(journal.entries.length);
      await sql`drop schema ${sql(fresh.schema)} cascade`;
    },
  );

  it('refuses a database that a newer version has written', async () => {
    const { place, sql } = await databases.open();
    await sql`insert into migration (hash, created_at) values ('from the future', 99999999999999)`;
    const opening = openStoreAt(place, { log: silentLog, migrate: true });
    await expect(opening).rejects.toMatchObject({ code: 'schema_newer', retryable: false });
    await expect(opening).rejects.toThrow(/newer version/);
    // The schema serves the tests that follow.
    await sql`delete from migration where hash = 'from the future'`;
  });

  it('refuses a database from before the first release, says what to do, and leaves it as it is', async () => {
    const { place, sql } = await databases.open();
    const old = { ...place, schema: `${place.schema}_old` };
    const journalOfOld = sql`${sql(old.schema)}.migration`;
    await sql`create schema ${sql(old.schema)}`;
    await sql`create table ${journalOfOld} (id serial primary key, hash text not null, created_at bigint)`;
    await sql`insert into ${journalOfOld} (hash, created_at) values ('0000_road', 1795253050798)`;
    const opening = openStoreAt(old, { log: silentLog, migrate: true });
    await expect(opening).rejects.toMatchObject({ code: 'schema_unreleased', retryable: false });
    await expect(opening).rejects.toThrow(
      databases.kind === 'embedded' ? /another GATEWAY_HOME/ : /DATABASE_URL at an empty database/,
    );
    const tables = await sql`select from information_schema.tables where table_schema = ${old.schema}`;
    expect(tables).toHaveLength(1);
    await sql`drop schema ${sql(old.schema)} cascade`;
  });
});
