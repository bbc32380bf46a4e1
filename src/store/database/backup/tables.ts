/** Which parts of a database belong in a backup: its tables, their columns, and how their values are read. */
import type { Sql } from '../database.ts';

/**
 * Tables that describe running processes, or are created again: nodes and their reports, the secret with which they
 * trust each other, and session files, which are files in a backup.
 */
const LEFT_OUT = [
  'migration',
  'node',
  'node_settings',
  'node_status',
  'mcp_status',
  'fanout_secret',
  'session_file',
  'session_folder',
];

/** A column whose values are stored. */
export interface Column {
  name: string;
  /** In the form that Postgres uses after `::`. */
  type: string;
  isIdentity: boolean;
}

/** The tables of a schema with their columns, by name; computed columns are left out. */
export async function tablesOf(sql: Sql, schema: string): Promise<Map<string, Column[]>> {
  const rows = await sql<({ table: string } & Column)[]>`
    select relname as table, attname as name, format_type(atttypid, atttypmod) as type, attidentity <> '' as "isIdentity"
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace join pg_attribute on attrelid = pg_class.oid
    where nspname = ${schema} and relkind = 'r' and attnum > 0 and not attisdropped and attgenerated = ''
    order by relname, attnum`;
  const tables = new Map<string, Column[]>();
  for (const { table, ...column } of rows) {
    if (!LEFT_OUT.includes(table)) tables.set(table, [...(tables.get(table) ?? []), column]);
  }
  return tables;
}

/** A quoted name for SQL text. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
