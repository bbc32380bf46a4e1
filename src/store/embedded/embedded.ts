/** The embedded database: Postgres in a worker thread, reached over a unix socket like any other Postgres. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sleep } from '../../lib/async/sleep.ts';
import type { Log } from '../../contracts/log.ts';
import type { StartProgress } from '../../contracts/operator/progress.ts';
import { prepareDataFolder } from './data-folder.ts';
import { type DatabaseThread, type DatabaseThreadPlace, startDatabaseThread } from './database-thread.ts';
import { MAX_SOCKET_PATH } from './life-socket.ts';

export interface EmbeddedDatabase {
  socketPath: string;
  /** Ends connections, closes the database cleanly, removes the socket. Never throws. */
  close(): Promise<void>;
}

/** A database whose thread has just been started. */
export interface OpeningDatabase {
  /** There was none: creating it takes seconds. */
  isNew: boolean;
  place: DatabaseThreadPlace;
  thread: DatabaseThread;
  /** Resolves when it accepts connections. Rejects with `StoreError('embedded_failed')`. */
  ready: Promise<void>;
  /** After the end of the thread. */
  removeSocket(): Promise<void>;
}

/** Pause before the first restart of a crashed database, in milliseconds: it doubles, up to the second. */
const RESTART_MS = 200;
const RESTART_CAP_MS = 15_000;
/** A database that ran this long did not crash because of its start: the count of restarts starts again at zero. */
const STEADY_MS = 60_000;

/**
 * Starts the thread of the database of `home` (its folder `pg`), without waiting for it. The home's lock must be held.
 * Throws `StoreError('embedded_failed')` for a folder that is no database.
 */
export async function beginEmbedded(home: string): Promise<OpeningDatabase> {
  const folder = await prepareDataFolder(home);
  const { socketPath, folder: socketFolder } = await chooseSocketPath(home);
  const place = { dataDir: folder.path, socketPath };
  const thread = await startDatabaseThread(place);
  const ready = thread.ready.then(() => folder.opened());
  // It may fail before anyone waits for it.
  ready.catch(() => undefined);
  return {
    isNew: folder.isNew,
    place,
    thread,
    ready,
    removeSocket: () => rm(socketFolder ?? socketPath, { recursive: true, force: true }),
  };
}

/**
 * Opens the database of `home`, or the one that is `opening` there. The home's lock must be held. A crashed thread is restarted on the
 * same socket, and callers repeat their calls. That goes on until it works: a full disk may have room again in an hour;
 * until then health and every call report that it is down. Throws `StoreError('embedded_failed')`.
 */
export async function openEmbedded(
  home: string,
  log: Log,
  options: {
    opening?: OpeningDatabase | undefined;
    progress?: StartProgress | undefined;
    restartMs?: number;
  } = {},
): Promise<EmbeddedDatabase> {
  const { progress, restartMs = RESTART_MS } = options;
  const opening = options.opening ?? (await beginEmbedded(home));
  if (opening.isNew) progress?.tell('Preparing the database (first start)…');
  else progress?.step('Opening the database…');
  const { place } = opening;
  const closing = new AbortController();
  let { thread } = opening;
  thread.logTo(log);
  await opening.ready;
  const supervised = supervise();
  return {
    socketPath: place.socketPath,
    async close() {
      closing.abort();
      await supervised;
      await thread.end();
      await opening.removeSocket();
    },
  };

  async function supervise(): Promise<void> {
    for (let restarts = 0; ; restarts += 1) {
      const since = performance.now();
      if (!(await thread.diedBefore(closing.signal))) return;
      if (performance.now() - since > STEADY_MS) restarts = 0;
      log.error({ restarts }, 'embedded_database_restarting');
      try {
        await sleep(Math.min(restartMs * 2 ** restarts, RESTART_CAP_MS), closing.signal);
        thread = await startDatabaseThread(place);
        thread.logTo(log);
        await thread.ready;
      } catch (error) {
        if (closing.signal.aborted) return;
        log.error({ err: error }, 'embedded_database_restart_failed');
      }
    }
  }
}

/** `pg.sock` in the home, or, if that path is too long for a socket, in a short private folder. */
async function chooseSocketPath(home: string): Promise<{ socketPath: string; folder?: string }> {
  const inHome = path.resolve(home, 'pg.sock');
  if (Buffer.byteLength(inHome) <= MAX_SOCKET_PATH) return { socketPath: inHome };
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-'));
  return { socketPath: path.join(folder, 'pg.sock'), folder };
}
