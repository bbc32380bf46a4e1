/** Which database errors are transient, and how long the store retries them. */
import { StoreError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { untrusted } from './tls.ts';

/** How long one call waits for the database to return before it fails, in milliseconds. */
const RETRY_FOR_MS = 30_000;

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_000;

/** Of a server that accepts no writes: it is a standby, or was set so. */
const READ_ONLY = '25006';

/** Codes of a server that answers but cannot do the work now, and how an operator can fix each (Postgres appendix A, "Error Codes"). */
const REFUSALS: Readonly<Record<string, string>> = {
  [READ_ONLY]: 'is read-only: has it become a standby, or was it set so?',
  '53100': 'has a full disk: free some space.',
  '53200': 'is out of memory.',
  '53300': 'has no connection left: end what holds them, or raise its max_connections.',
  '55P03': 'is locked: does another program hold its tables?',
  '57P03': 'is starting up, or shutting down.',
  '40001': 'is too busy: the same rows kept changing.',
  '40P01': 'is too busy: statements kept waiting for each other.',
  '58030': 'cannot read or write its disk.',
};

/** Of a statement that ran into `statement_timeout`, or was cancelled. */
const CANCELLED = '57014';

/**
 * Codes with which a server ends a connection: it stops, has crashed, or has a timeout for its role or database, of a session or
 * transaction that is idle, or of a transaction.
 */
const ENDED = ['57P01', '57P02', '57P05', '25P03', '25P04'];

/** Codes of Node, postgres.js and Postgres that mean "not now"; class 08 is matched by its prefix. */
const TRANSIENT = new Set([
  ...ENDED,
  'ECONNRESET',
  'ECONNREFUSED',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  CANCELLED,
  ...Object.keys(REFUSALS),
]);

/** Of a server that refuses how it is spoken to: a pooler that does not know a setting of the connection. */
const PROTOCOL_VIOLATION = '08P01';

/** Codes of Postgres for files that are not what it wrote: internal errors, corrupted data, a missing file. */
const DAMAGED = /^(XX...|58P01)$/;

/** Codes for a connection that is gone. */
const GONE = new Set([
  ...ENDED,
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'ECONNRESET',
  'EPIPE',
]);

/** True if the connection of a statement is gone, and its transaction with it. */
export function isConnectionGone(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && GONE.has(code);
}

/** True if the same statement may soon succeed: the connection broke, the server restarts or temporarily cannot write, or two transactions conflicted. */
export function isTransient(error: unknown): boolean {
  const code = errorCode(error);
  if (code === PROTOCOL_VIOLATION) return false;
  if (code !== undefined && (TRANSIENT.has(code) || code.startsWith('08'))) return true;
  if (error instanceof Error && /terminated unexpectedly/i.test(error.message)) return true;
  return error instanceof Error && error.cause !== undefined && isTransient(error.cause);
}

/** The unique key that an insert violated, if that is the error. */
export function violatedKey(error: unknown): string | undefined {
  if (errorCode(error) !== '23505') return undefined;
  if (error instanceof Error && 'constraint_name' in error) return String(error.constraint_name);
  return error instanceof Error ? violatedKey(error.cause) : undefined;
}

/** True for the error of a statement whose own condition failed. */
export function dividedByZero(error: unknown): boolean {
  return errorCode(error) === '22012';
}

/** True for the error of a statement that took longer than its connection allows, or was cancelled by an operator. */
export function isCancelled(error: unknown): boolean {
  return errorCode(error) === CANCELLED;
}

function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause === undefined ? undefined : errorCode(error.cause);
}

/**
 * Runs `work` until no transient error occurs, for at most `forMs`, with growing jittered pauses. `work` receives the
 * number of failed runs, one of which may have been committed. The error names `server` only if it is given: operators
 * alone may read it. Throws only `StoreError`.
 */
export async function withRetry<T>(
  work: (attempt: number) => Promise<T>,
  {
    forMs = RETRY_FOR_MS,
    signal,
    onWait,
    server,
  }: {
    forMs?: number | undefined;
    signal?: AbortSignal;
    onWait?: (code: string, leftMs: number) => void;
    server?: string | undefined;
  } = {},
): Promise<T> {
  const deadline = performance.now() + forMs;
  let last: unknown;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await within(Math.max(0, deadline - performance.now()), work(attempt), () =>
        unavailable(last && rootCause(last), server),
      );
    } catch (error) {
      last = error;
      const pause = backoffMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      if (signal?.aborted === true || !isTransient(error) || performance.now() + pause > deadline) {
        throw toStoreError(error, server);
      }
      onWait?.(errorCode(error) ?? 'no answer', deadline - performance.now());
      await sleep(pause, signal).catch((aborted: unknown) => {
        throw toStoreError(aborted, server);
      });
    }
  }
}

/**
 * The driver reconnects forever while a server accepts and drops connections: this reports it in time. The statement
 * may still be executed later, as after any lost answer.
 */
async function within<T>(ms: number, work: Promise<T>, tooLate: () => StoreError): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Class 28 is about user and password; 3D000 is an unknown database. */
const REFUSES_SIGN_IN = /^(?:28|3D)/;

/** Runs `work` once. Throws only `StoreError`. */
export async function runOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toStoreError(error, undefined);
  }
}

/** Leaves drizzle's own error out of the chain of causes: its message contains the values of the statement. */
function toStoreError(error: unknown, server: string | undefined): StoreError {
  if (error instanceof StoreError) return error;
  const cause = rootCause(error);
  if (cause instanceof StoreError) return cause;
  if (isTransient(cause)) return unavailable(cause, server);
  const certificate = untrusted(cause);
  if (certificate !== undefined) return certificate;
  const message = cause instanceof Error ? cause.message : String(cause);
  if (errorCode(cause) === PROTOCOL_VIOLATION) {
    const remedy =
      'If DATABASE_URL leads to PgBouncer, set ignore_startup_parameters = search_path,statement_timeout,jit,enable_seqscan and pool_mode = session there.';
    return new StoreError('pooler_refused', `The database refused the connection: ${message}. ${remedy}`, {
      cause,
    });
  }
  if (DAMAGED.test(errorCode(cause) ?? '')) {
    const remedy = `Move its folder away and restore the last backup: ${PARLEY} restore FILE`;
    return new StoreError('database_damaged', `The database is damaged (${message}). ${remedy}`, { cause });
  }
  if (REFUSES_SIGN_IN.test(errorCode(cause) ?? '')) {
    const place = server === undefined ? '' : ` at ${server}`;
    const text = `The database${place} refused the sign-in: ${message}. Correct user, password and database in DATABASE_URL.`;
    return new StoreError('database', text, { cause });
  }
  return new StoreError('database', `The database refused a statement: ${message}`, { cause });
}

function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error;
}

function unavailable(cause: unknown, server: string | undefined): StoreError {
  const code = errorCode(cause);
  const isLate = cause === undefined || code === CANCELLED;
  const problem =
    REFUSALS[code ?? ''] ??
    (isLate
      ? 'did not answer in time: is a table locked, is the server overloaded, or is it another program than Postgres?'
      : `cannot be reached${code === undefined ? '' : ` (${code})`}.`);
  return new StoreError(
    code === READ_ONLY ? 'read_only' : 'unavailable',
    `The database${server === undefined ? '' : ` at ${server}`} ${problem} See DATABASE_URL, or the disk behind GATEWAY_HOME.`,
    {
      retryable: true,
      cause,
    },
  );
}
