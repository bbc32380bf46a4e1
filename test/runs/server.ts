/**
 * The Postgres server of a run: the one that DATABASE_URL names, else a cluster from the packages that ends with the run. On it is a
 * template, a database with this version's tables: each store and each gateway of a test starts from a copy of it.
 */
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { migrateDatabase } from '../../src/store/database/migrate.ts';
import { openServer } from '../crash/cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `postgres://…` of the server, and the name of the template, with which the names of all databases of the run begin. */
    server: { url: string; template: string };
  }
}

/** Nothing on it outlives the run, so nothing needs to reach a disk. The connections are those of all workers and gateways. */
const SETTINGS = [
  'fsync=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_connections=400',
];

/** Called by vitest before the first test; returns what it calls after the last. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await openServer(SETTINGS);
  // No program that a test starts finds it by accident: tests hand it over.
  Reflect.deleteProperty(process.env, 'DATABASE_URL');
  const { url } = server;
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const template = `test_${Date.now().toString(36)}_${process.pid}`;
  await sql`create database ${sql(template)}`;
  const place = new URL(url);
  place.pathname = `/${template}`;
  await migrateDatabase({ url: place.href, schema: 'public' });
  provide('server', { url, template });
  return async () => {
    if (!server.isOwn) await dropDatabases(sql, template);
    await sql.end();
    await server.close();
  };
}

async function dropDatabases(sql: postgres.Sql, template: string): Promise<void> {
  const databases = await sql<{ name: string }[]>`
    select datname as name from pg_database where starts_with(datname, ${template})`;
  for (const { name } of databases) await sql`drop database ${sql(name)} with (force)`;
}
