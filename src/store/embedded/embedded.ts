/** The embedded database: Postgres in a worker thread, reached over a unix socket like any other Postgres. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { StoreError } from '../../contracts/errors.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Log } from '../../contracts/log.ts';
import type { StartProgress } from '../../contracts/operator/progress.ts';
import { prepareDataFolder } from './data-folder.ts';
import { MAX_SOCKET_PATH } from './life-socket.ts';
import type { WorkerMessage } from './worker-message.ts';

/** How long a start may take, in milliseconds: the first one creates the database. */
const READY_TIMEOUT_MS = 120_000;
const CLOSE_TIMEOUT_MS = 15_000;

export interface EmbeddedDatabase {
  socketPath: string;
  /** Ends connections, closes the database cleanly, removes the socket. Never throws. */
  close(): Promise<void>;
}

/** Pause before the first restart of a crashed database, in milliseconds: it doubles, up to the second. */
const RESTART_MS = 200;
const RESTART_CAP_MS = 15_000;
/** A database that ran this long did not crash because of its start: the count of restarts starts again at zero. */
const STEADY_MS = 60_000;

/**
 * Starts the database of `home` (its folder `pg`). The home's lock must be held. A crashed thread is restarted on the
 * same socket, and callers repeat their calls. That goes on until it works: a full disk may have room again in an hour;
 * until then health and every call report that it is down. Throws `StoreError('embedded_failed')`.
 */
export async function openEmbedded(
  home: string,
  log: Log,
  progress?: StartProgress,
  restartMs = RESTART_MS,
): Promise<EmbeddedDatabase> {
  const folder = await prepareDataFolder(home);
  if (folder.isNew) progress?.tell('Preparing the database (first start)…');
  else progress?.step('Opening the database…');
  const dataDir = folder.path;
  const { socketPath, folder: socketFolder } = await chooseSocketPath(home);
  const closing = new AbortController();
  let worker = await startWorker({ dataDir, socketPath }, log);
  await folder.opened();
  const supervised = supervise();
  return {
    socketPath,
    async close() {
      closing.abort();
      await supervised;
      await endWorker(worker, log);
      await rm(socketFolder ?? socketPath, { recursive: true, force: true });
    },
  };

  async function supervise(): Promise<void> {
    for (let restarts = 0; ; restarts += 1) {
      const since = performance.now();
      if (!(await diedBefore(worker, closing.signal))) return;
      if (performance.now() - since > STEADY_MS) restarts = 0;
      log.error({ restarts }, 'embedded_database_restarting');
      try {
        await sleep(Math.min(restartMs * 2 ** restarts, RESTART_CAP_MS), closing.signal);
        worker = await startWorker({ dataDir, socketPath }, log);
      } catch (error) {
        if (closing.signal.aborted) return;
        log.error({ err: error }, 'embedded_database_restart_failed');
      }
    }
  }
}

/** Starts the thread; resolves when its socket accepts connections. */
async function startWorker(place: Pick<WorkerMessage, 'dataDir' | 'socketPath'>, log: Log): Promise<Worker> {
  await rm(place.socketPath, { force: true });
  const cache = getCompileCacheDir();
  // Node creates a folder named after its version in the given folder.
  const workerData: WorkerMessage = { ...place, compileCache: cache && path.dirname(cache) };
  const worker = new Worker(new URL('./pglite-start.js', import.meta.url), { workerData });
  // One listener for the worker's whole life: a late error must not end the process.
  worker.on('error', (error) => log.error({ err: error }, 'embedded_database_failed'));
  try {
    await whenReady(worker, READY_TIMEOUT_MS);
  } catch (error) {
    await worker.terminate();
    throw new StoreError(
      'embedded_failed',
      `The embedded database in ${place.dataDir} did not open: is the disk full, or the folder of another version? Set DATABASE_URL to use a Postgres server instead.`,
      { cause: error },
    );
  }
  return worker;
}

/** True once the thread has ended on its own; false if `closing` comes first. */
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

async function endWorker(worker: Worker, log: Log): Promise<void> {
  if (worker.threadId === -1) return;
  const gone = once(worker, 'exit', { signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage('close');
  try {
    // The thread ends on its own: if it is terminated, V8 sometimes crashes on the compiled code it frees.
    await gone;
  } catch (error) {
    log.warn({ err: error }, 'embedded_database_close_timeout');
    await worker.terminate();
  }
}

/** `pg.sock` in the home, or, if that path is too long for a socket, in a short private folder. */
async function chooseSocketPath(home: string): Promise<{ socketPath: string; folder?: string }> {
  const inHome = path.resolve(home, 'pg.sock');
  if (Buffer.byteLength(inHome) <= MAX_SOCKET_PATH) return { socketPath: inHome };
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-'));
  return { socketPath: path.join(folder, 'pg.sock'), folder };
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
