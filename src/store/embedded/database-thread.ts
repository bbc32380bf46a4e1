/** The thread of the embedded database: its start, its death and its end. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { StoreError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import type { WorkerMessage } from './worker-message.ts';

/** How long a start may take, in milliseconds: the first one creates the database. */
const READY_TIMEOUT_MS = 120_000;
const CLOSE_TIMEOUT_MS = 15_000;

/** Where the data is, and where the thread listens. */
export type DatabaseThreadPlace = Pick<WorkerMessage, 'dataDir' | 'socketPath'>;

export interface DatabaseThread {
  /** Resolves when the socket accepts connections. Rejects with `StoreError('embedded_failed')`; the thread has ended then. */
  ready: Promise<void>;
  /** Its errors are logged from now on; one before `ready` is the cause of that rejection, too. */
  logTo(log: Log): void;
  /** True once the thread has ended on its own; false if `closing` comes first. Never rejects. */
  diedBefore(closing: AbortSignal): Promise<boolean>;
  /** Closes the database cleanly. Never throws. */
  end(): Promise<void>;
}

/** Starts it. A socket that a killed process left is removed first. */
export async function startDatabaseThread(place: DatabaseThreadPlace): Promise<DatabaseThread> {
  await rm(place.socketPath, { force: true });
  const cache = getCompileCacheDir();
  // Node creates a folder named after its version in the given folder.
  const workerData: WorkerMessage = { ...place, compileCache: cache && path.dirname(cache) };
  const worker = new Worker(new URL('./pglite-start.js', import.meta.url), { workerData });
  let log: Log | undefined;
  // One listener for the worker's whole life: a late error must not end the process.
  worker.on('error', (error) => log?.error({ err: error }, 'embedded_database_failed'));
  const ready = becomeReady(worker, place);
  // It may fail before anyone waits for it.
  ready.catch(() => undefined);
  return {
    ready,
    logTo: (opened) => void (log = opened),
    diedBefore: (closing) => diedBefore(worker, closing),
    end: () => endWorker(worker, log),
  };
}

async function becomeReady(worker: Worker, { dataDir }: DatabaseThreadPlace): Promise<void> {
  try {
    await whenReady(worker, READY_TIMEOUT_MS);
  } catch (error) {
    await worker.terminate();
    throw new StoreError(
      'embedded_failed',
      `The embedded database in ${dataDir} did not open: is the disk full, or the folder of another version? Set DATABASE_URL to use a Postgres server instead.`,
      { cause: error },
    );
  }
}

/** Waits for the worker's report. Rejects if it fails, exits or stays silent. */
async function whenReady(worker: Worker, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  const exit = once(worker, 'exit', { signal }).then(([code]) => {
    throw new Error(`the worker ended with code ${String(code)}`);
  });
  const ready = once(worker, 'message', { signal });
  // The wait that loses the race ends later, through the signal.
  for (const late of [exit, ready]) late.catch(() => undefined);
  await Promise.race([ready, exit]);
}

async function diedBefore(worker: Worker, closing: AbortSignal): Promise<boolean> {
  if (worker.threadId === -1) return true;
  try {
    await once(worker, 'exit', { signal: closing });
    return true;
  } catch {
    // `once` on a worker also rejects with the thread's own error, which counts as a crash.
    return !closing.aborted;
  }
}

async function endWorker(worker: Worker, log: Log | undefined): Promise<void> {
  if (worker.threadId === -1) return;
  const gone = once(worker, 'exit', { signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage('close');
  try {
    // The thread ends on its own: if it is terminated, V8 sometimes crashes on the compiled code it frees.
    await gone;
  } catch (error) {
    log?.warn({ err: error }, 'embedded_database_close_timeout');
    await worker.terminate();
  }
}
