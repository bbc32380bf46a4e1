/**
 * The only module that loads drizzle. It loads the CommonJS build, which costs a fifth of the ES modules' half a
 * second of processor time and 200 MB at every start. The types are those of the ES modules.
 */
import { createRequire } from 'node:module';
import type * as Core from 'drizzle-orm';
import type * as Migrator from 'drizzle-orm/migrator';
import type * as PgCore from 'drizzle-orm/pg-core';
import type * as Driver from 'drizzle-orm/postgres-js';
import type * as DriverMigrator from 'drizzle-orm/postgres-js/migrator';

const load = createRequire(import.meta.url);

const core: typeof Core = load('drizzle-orm');
const pgCore: typeof PgCore = load('drizzle-orm/pg-core');
const driver: typeof Driver = load('drizzle-orm/postgres-js');
const migrator: typeof Migrator = load('drizzle-orm/migrator');
const driverMigrator: typeof DriverMigrator = load('drizzle-orm/postgres-js/migrator');

/** The query builder over a postgres.js client. */
export type Orm = Driver.PostgresJsDatabase;

/** Conditions, order and expressions of queries. */
export const { and, asc, desc, eq, getTableColumns, gte, isNull, lt, sql } = core;
const { customType, timestamp } = pgCore;

/** Declares tables. */
export const { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, text, unique } = pgCore;
/** Creates the query builder for a postgres.js client. */
export const { drizzle } = driver;
/** Reads and applies a folder of migrations. */
export const { readMigrationFiles } = migrator;
export const { migrate } = driverMigrator;

/*** Columns used by several tables: timestamps, set by the database's clock, and bytes. */
export const moment = (name: string) => timestamp(name, { withTimezone: true });

export const createdAt = () => moment('created_at').notNull().defaultNow();

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Words with their places, for full text search; written and read as text. */
export const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' });
