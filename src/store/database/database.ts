/** The connection pool: one driver for Postgres and the embedded database, limited in size, with retries. */
import postgres from 'postgres';
import { StoreError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { drizzle, type Orm } from './drizzle.ts';
import { isCancelled, isConnectionGone, withRetry } from './retry.ts';
import { tlsOf } from './tls.ts';

/** Connections of one process. */
const POOL_SIZE = 4;

/** Statements in flight on one connection: they wake the server once, and their answers arrive in one read. */
const PIPELINED = 4;

/** The type `timestamptz`. */
const TIMESTAMPTZ = 1184;

/** How long a call waits for a free connection before it fails, in milliseconds. */
const ACQUIRE_TIMEOUT_MS = 10_000;

/** The server aborts a statement that runs longer, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Work without an answer for this long is on a connection that leads nowhere, because the server would have ended it: a
 * firewall has dropped the connection without telling, or the server's machine is gone. In milliseconds; a transaction,
 * with its many statements, has more time.
 */
const ANSWER_TIMEOUT_MS = 2 * STATEMENT_TIMEOUT_MS + 5_000;
const TRANSACTION_SHARE = 5;

/** How long closing waits for running statements, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000;

/** Runs statements: the pool, or one transaction on one of its connections. */
export type Sql = postgres.ISql;
/** A part of a statement, or a statement that has not been sent. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** The location of the tables. */
export interface DatabasePlace {
  /** `postgres://…`, or undefined with `socketPath`. */
  url?: string | undefined;
  /** The embedded server's unix socket. */
  socketPath?: string | undefined;
  /** The Postgres schema of all tables; the migration creates it. */
  schema: string;
  /** The name of this process in `pg_stat_activity`. */
  applicationName?: string | undefined;
}

export interface DatabaseOptions extends DatabasePlace {
  poolSize?: number | undefined;
  /**
   * For searches: statements run one at a time on each connection, by indexes, and end after so many milliseconds with
   * `StoreError('search_timeout')`.
   */
  searchTimeoutMs?: number | undefined;
  retryForMs?: number | undefined;
  acquireTimeoutMs?: number | undefined;
  answerTimeoutMs?: number | undefined;
}

/** Statements with retries. `attempt` > 0 means that an earlier run may have been committed, with its answer lost. */
export interface Database {
  /** Throws only `StoreError`. */
  run<T>(work: (sql: Sql, attempt: number) => Promise<T>): Promise<T>;
  /** Like `run`, with all statements in one transaction, which sees what was committed before each of them. */
  transaction<T>(work: (sql: Sql, attempt: number) => Promise<T>): Promise<T>;
  /** Like `run`, for one statement: its rows, `withoutNulls`. */
  rows<Row extends object>(statement: (sql: Sql) => Promise<readonly Row[]>): Promise<Row[]>;
  /** The first of its rows. */
  row<Row extends object>(statement: (sql: Sql) => Promise<readonly Row[]>): Promise<Row | undefined>;
  /** How many rows it has. */
  count(statement: (sql: Sql) => Promise<readonly object[]>): Promise<number>;
  /** Whether it has rows. */
  exists(statement: (sql: Sql) => Promise<readonly object[]>): Promise<boolean>;
  /** Whether it has rows, or may have had some when an earlier run was committed: for what can be done only once. */
  once(statement: (sql: Sql) => Promise<readonly object[]>): Promise<boolean>;
  /** Like `run`, for one statement without a result. */
  write(statement: (sql: Sql) => Promise<unknown>): Promise<void>;
  /** Like `run`, with drizzle's query builder, for reading and writing rows of one table. */
  query<T>(work: (orm: Orm, attempt: number) => Promise<T>): Promise<T>;
  /** Ends all connections; calls in progress fail. Never throws; may be called twice. */
  close(): Promise<void>;
}

/** A postgres.js client for one schema. Its transactions survive the loss of their connection, drizzle's included. */
export function connect(place: DatabasePlace, max: number, more: postgres.Options<{}> = {}): postgres.Sql {
  const options: postgres.Options<{}> = {
    max,
    fetch_types: false,
    connect_timeout: 10,
    onnotice: () => undefined,
    ...more,
    connection: {
      application_name: place.applicationName ?? 'parley',
      search_path: `"${place.schema}"`,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // Compiling a plan takes up to a second of CPU and saves none here: every statement reads few rows.
      jit: 'off',
      ...more.connection,
    },
  };
  const path = place.socketPath;
  if (path !== undefined)
    return guardTransactions(postgres({ ...options, path, user: 'parley', database: 'postgres' }));
  const { url, ssl } = tlsOf(place.url ?? '');
  return guardTransactions(postgres(url, { ...options, ...(ssl !== undefined && { ssl }) }));
}

/**
 * A client for one transaction of many statements. Once its connection is lost, each further one throws `StoreError('unavailable')`:
 * the driver would open another and run it there, in no transaction.
 */
export function connectOnce(place: DatabasePlace): postgres.Sql {
  let isLost = false;
  const client = connect(place, 1, { max_lifetime: null, onclose: () => (isLost = true) });
  const check = (): void => {
    if (!isLost) return;
    const text = 'The connection to the database was lost before everything was done: run the command again.';
    throw new StoreError('unavailable', text, { retryable: true });
  };
  return guardCalls(client, check);
}

/** Timeouts that a role or database may have, for a connection that waits by design. Throws errors of the driver. */
export async function waitWithoutEnd(sql: postgres.Sql): Promise<void> {
  await sql`
    select set_config(name, '0', false) from pg_settings
    where name in ('idle_session_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;
}

/** The planner takes an index scan for dearer than it is: it does not know that to read a table is to split its texts into words. */
function searching(timeoutMs: number): postgres.Options<{}>['connection'] {
  return { statement_timeout: timeoutMs, enable_seqscan: 'off' };
}

/** Throws what a failed search means: one that took too long is not repeated, unlike other statements. */
function rethrowSearch(error: unknown): never {
  if (!isCancelled(error)) throw error;
  throw new StoreError('search_timeout', textRef('failure.search_timeout'), { retryable: true });
}

/**
 * postgres.js 3.4.9 goes on with a transaction whose connection is gone: it sends further statements, and a rollback after an
 * error, to a socket that no longer exists.
 */
function guardTransactions(client: postgres.Sql): postgres.Sql {
  const begin = client.begin.bind(client);
  type Work = (tx: postgres.TransactionSql) => unknown;
  const guarded = (...[first, second]: [Work] | [string, Work]): unknown => {
    let isOver = false;
    const refuseGone = (): void => {
      if (isOver) throw Object.assign(new Error('The transaction is over.'), { code: 'CONNECTION_CLOSED' });
    };
    const work = async (tx: postgres.TransactionSql) =>
      await unlessGone((typeof first === 'string' ? second : first)?.(guardCalls(tx, refuseGone)));
    const result = typeof first === 'string' ? begin(first, work) : begin(work);
    return result.finally(() => (isOver = true));
  };
  return Object.assign(client, { begin: guarded });
}

/** The same, but `check` is called before each statement, and may throw. */
function guardCalls<Client extends postgres.ISql>(client: Client, check: () => void): Client {
  return new Proxy(client, {
    apply(target, _, args) {
      check();
      return Reflect.apply(target as unknown as (...args: unknown[]) => unknown, undefined, args);
    },
    get(target, name) {
      if (name === 'unsafe') check();
      return Reflect.get(target, name);
    },
  });
}

/**
 * Never settles if the connection is gone: the driver ends the transaction itself. After any other error it sends a
 * rollback, which on a socket that no longer exists would end the process.
 */
async function unlessGone<T>(work: T): Promise<Awaited<T>> {
  try {
    return await work;
  } catch (error) {
    if (isConnectionGone(error)) return await new Promise<never>(() => undefined);
    throw error;
  }
}

/** Rows in the form of the contracts: what is null is absent. Changes them in place. */
export function withoutNulls<Row extends object>(rows: readonly Row[]): Row[] {
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) if (value === null) Reflect.deleteProperty(row, name);
  }
  return [...rows];
}

/** Opens the pool; connections are opened when they are first needed. */
export function openDatabase(options: DatabaseOptions): Database {
  const { acquireTimeoutMs = ACQUIRE_TIMEOUT_MS, answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
  const size = options.poolSize ?? POOL_SIZE;
  const { searchTimeoutMs } = options;
  let pool = openPool(options, size);
  /** Gives up on all connections of a pool in which one leads nowhere; the statements on them fail, and are repeated. */
  const replace = (oldPool: Pool): void => {
    if (pool !== oldPool || closing.signal.aborted) return;
    pool = openPool(options, size);
    void oldPool.client.end({ timeout: 0 });
  };
  const permits = createSemaphore(size * (searchTimeoutMs === undefined ? PIPELINED : 1), acquireTimeoutMs);
  // A transaction keeps its connection from the first statement to the last: one connection stays free of
  // transactions, for statements.
  const transactions = createSemaphore(Math.max(1, size - 1), acquireTimeoutMs);
  const closing = new AbortController();
  const retrying = <T>(work: (attempt: number) => Promise<T>): Promise<T> =>
    withRetry(work, { forMs: options.retryForMs, signal: closing.signal });
  const within = <T>(ms: number, work: (on: Pool) => Promise<T>): Promise<T> => {
    return permits.hold(() => {
      const on = pool;
      return answered(work(on), ms, () => replace(on));
    });
  };
  const withConnection = <T>(work: (on: Pool, attempt: number) => Promise<T>): Promise<T> =>
    retrying((attempt) => within(answerTimeoutMs, (on) => work(on, attempt)));
  const run = <T>(work: (sql: Sql, attempt: number) => Promise<T>): Promise<T> =>
    withConnection(({ client }, attempt) =>
      searchTimeoutMs === undefined ? work(client, attempt) : work(client, attempt).catch(rethrowSearch),
    );
  return {
    run,
    rows: async (statement) => withoutNulls(await run(statement)),
    row: async (statement) => withoutNulls(await run(statement))[0],
    count: async (statement) => (await run(statement)).length,
    exists: async (statement) => (await run(statement)).length > 0,
    once: (statement) => run(async (sql, attempt) => (await statement(sql)).length > 0 || attempt > 0),
    write: async (statement) => void (await run(statement)),
    transaction: async <T>(work: (sql: Sql, attempt: number) => Promise<T>) => {
      // postgres.js unwraps arrays of promises in the result's type; the box keeps T unchanged.
      // A transaction that waits for its turn holds no permit that a statement could use.
      const box = await retrying((attempt) =>
        transactions.hold(() =>
          within(answerTimeoutMs * TRANSACTION_SHARE, ({ client }) =>
            client.begin(async (tx) => ({ value: await work(tx, attempt) })),
          ),
        ),
      );
      return box.value;
    },
    query: (work) => withConnection(({ orm }, attempt) => work(orm, attempt)),
    async close() {
      closing.abort(new StoreError('closed', 'The store is closed.'));
      await permits.idle(CLOSE_TIMEOUT_MS);
      // No statement is running: the driver would wait in vain for connections that broke in the middle of
      // one.
      await pool.client.end({ timeout: 0 });
    },
  };
}

interface Pool {
  client: postgres.Sql;
  orm: Orm;
}

function openPool(options: DatabaseOptions, size: number): Pool {
  const { searchTimeoutMs } = options;
  const client = connect(
    options,
    size,
    searchTimeoutMs === undefined ? {} : { connection: searching(searchTimeoutMs) },
  );
  const orm = drizzle(client);
  // Drizzle has switched this parser off; it accepts dates, too.
  client.options.parsers[TIMESTAMPTZ] = (text: string) => new Date(text);
  return { client, orm };
}

/** The result of work; after `ms` without one, `giveUp` is called, which makes the work fail. */
async function answered<T>(work: Promise<T>, ms: number, giveUp: () => void): Promise<T> {
  const timer = setTimeout(giveUp, ms).unref();
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** The database's clock, which all nodes share, in whole epoch milliseconds. */
export async function readClock(sql: Sql): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  return Math.floor(row?.ms ?? Number.NaN);
}

/** Creates a semaphore with `count` permits; a caller waits at most `timeoutMs` for one, first come, first served. */
export function createSemaphore(count: number, timeoutMs: number) {
  let free = count;
  const queue = new Set<() => void>();
  let whenIdle: (() => void) | undefined;

  const acquire = (): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.delete(enter);
        reject(
          new StoreError('unavailable', `No database connection became free within ${timeoutMs} ms.`, {
            retryable: true,
          }),
        );
      }, timeoutMs);
      const enter = (): void => {
        clearTimeout(timer);
        queue.delete(enter);
        resolve();
      };
      queue.add(enter);
    });
  };

  const release = (): void => {
    const next = queue.values().next();
    if (next.done === true) free += 1;
    else next.value();
    if (free === count) whenIdle?.();
  };

  return {
    /** Runs `work` when a permit is free. Throws `StoreError('unavailable')` if none becomes free in time. */
    async hold<T>(work: () => Promise<T>): Promise<T> {
      await acquire();
      try {
        return await work();
      } finally {
        release();
      }
    },
    /** Resolves when no work is running, or after `ms` milliseconds. */
    async idle(ms: number): Promise<void> {
      if (free === count) return;
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        whenIdle = resolve;
        timer = setTimeout(resolve, ms);
      });
      clearTimeout(timer);
    },
  };
}
