/** Reads a SQLite database of another program, without changing it. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { GatewayError } from '../../protocol/errors.ts';

/** A row, by column. */
export type SqliteRow = Readonly<Record<string, SQLOutputValue>>;

/** An open database. Its functions throw `GatewayError('import_unreadable')`. */
export interface SqliteFile {
  /** Names of a table's columns; none if there is no such table. */
  columns(table: string): ReadonlySet<string>;
  /** Rows of a query, one at a time. */
  rows(query: string, ...values: string[]): Generator<SqliteRow>;
  close(): void;
}

/**
 * Opens a database for reading. `tables` are those that are read, with their columns; `program` is named where one lacks some. Throws `GatewayError`: `import_unreadable`, `import_format`.
 */
export async function openSqlite(
  file: string,
  program: string,
  tables: Readonly<Record<string, readonly string[]>>,
): Promise<SqliteFile> {
  const sqlite = await import('node:sqlite');
  const database = attempt(file, () => new sqlite.DatabaseSync(file, { readOnly: true, timeout: BUSY_MS }));
  try {
    const columns = (table: string): Set<string> =>
      attempt(
        file,
        () =>
          new Set(
            database
              .prepare('select name from pragma_table_info(?)')
              .all(table)
              .map(({ name }) => String(name)),
          ),
      );
    for (const [table, needs] of Object.entries(tables)) {
      const has = columns(table);
      const lacks = needs.filter((column) => !has.has(column));
      if (lacks.length > 0)
        throw wrongFormat(
          file,
          program,
          has.size === 0 ? `no table ${table}` : `no column ${lacks.join(', ')} in its table ${table}`,
        );
    }
    return {
      columns,
      rows: (query, ...values) => rowsOf(database, file, query, values),
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** How long a program that is writing is waited for, in milliseconds. */
const BUSY_MS = 5_000;

function* rowsOf(
  database: DatabaseSync,
  file: string,
  query: string,
  values: readonly string[],
): Generator<SqliteRow> {
  const rows = attempt(file, () => database.prepare(query).iterate(...values));
  for (;;) {
    const next = attempt(file, () => rows.next());
    if (next.done === true) return;
    yield next.value;
  }
}

function wrongFormat(file: string, program: string, problem: string): GatewayError {
  return new GatewayError(
    'import_format',
    `${file} is not a database that this version of Parley can read: it has ${problem}. It is from another program than ${program}, or from a version that is too old or too new.`,
  );
}

function attempt<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new GatewayError('import_unreadable', `${file} cannot be read as a SQLite database: ${reason}.`, {
      cause,
    });
  }
}
