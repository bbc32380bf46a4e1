/** The embedded database: a Postgres of the home's own, a child of this process, reached over a unix socket. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isRetryable } from '../../contracts/errors.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Log } from '../../contracts/log.ts';
import type { StartProgress } from '../../contracts/operator/progress.ts';
import { type Cluster, prepareCluster } from './data-folder.ts';
import { startWatchdog } from './watchdog.ts';
import { endServer, hasEnded, startServer } from './server.ts';
import { endSurvivor } from './survivor.ts';

export interface EmbeddedDatabase {
  socketPath: string;
  /** Ends connections, shuts the database down cleanly, removes the socket. Never throws. */
  close(): Promise<void>;
}

/** Pause before the first restart of a crashed database, in milliseconds: it doubles, up to the second. */
const RESTART_MS = 200;
const RESTART_CAP_MS = 15_000;
/** A database that ran this long did not crash because of its start: the count of restarts starts again at zero. */
const STEADY_MS = 60_000;

/** How long the processes of a server that was killed may take to end, in milliseconds. */
const REMAINS_MS = 5_000;

/** Longest path of a unix socket, in bytes: Linux allows 107, macOS 103. */
const MAX_SOCKET_PATH = 100;
const SOCKET = '.s.PGSQL.5432';

/** Connections for one process and its commands. */
const CONNECTIONS = 100;

/**
 * Opens the database of `home`, which is made if there is none. The home's lock must be held. A crashed server is
 * restarted on the same socket, and callers repeat their calls. That goes on until it works: a full disk may have room
 * again in an hour; until then health and every call report that it is down. It ends with this process, however that ends.
 * Throws `StoreError`: `embedded_failed`, `embedded_unavailable`.
 */
export async function openEmbedded(
  home: string,
  log: Log,
  options: { connections?: number; progress?: StartProgress | undefined; restartMs?: number } = {},
): Promise<EmbeddedDatabase> {
  const { progress, restartMs = RESTART_MS, connections = CONNECTIONS } = options;
  const cluster = await prepareCluster(path.resolve(home), () =>
    progress?.tell('Preparing the database (first start)…'),
  );
  progress?.step('Opening the database…');
  const socket = await chooseSocketFolder(cluster);
  const place = { socketFolder: socket.folder, connections };
  const watchdog = startWatchdog(log);
  const closing = new AbortController();
  const start = (): Promise<ChildProcess> =>
    startAfterOthers(cluster, place, log, (pid) => watchdog.watch(pid));
  let server = await start().catch(async (error: unknown) => {
    watchdog.end();
    await socket.remove();
    throw error;
  });
  const supervised = supervise();
  return {
    socketPath: path.join(socket.folder, SOCKET),
    async close() {
      closing.abort();
      await supervised;
      await endServer(server, log);
      watchdog.end();
      await socket.remove();
    },
  };

  async function supervise(): Promise<void> {
    for (let restarts = 0; ; restarts += 1) {
      const since = performance.now();
      if (!(await diedBefore(server, closing.signal))) return;
      watchdog.watch(undefined);
      if (performance.now() - since > STEADY_MS) restarts = 0;
      log.error({ restarts }, 'embedded_database_restarting');
      try {
        await sleep(Math.min(restartMs * 2 ** restarts, RESTART_CAP_MS), closing.signal);
        server = await start();
      } catch (error) {
        if (closing.signal.aborted) return;
        log.error({ err: error }, 'embedded_database_restart_failed');
      }
    }
  }
}

/** Starts a server once none is left of the one before, whoever started that. Throws `StoreError`. */
async function startAfterOthers(...args: Parameters<typeof startServer>): Promise<ChildProcess> {
  const [{ folder }, , log] = args;
  await endSurvivor(folder, log);
  const began = performance.now();
  for (;;) {
    try {
      return await startServer(...args);
    } catch (error) {
      if (!isRetryable(error) || performance.now() - began > REMAINS_MS) throw error;
      await sleep(RESTART_MS);
    }
  }
}

/** True once the server has ended on its own; false if `closing` comes first. Never rejects. */
async function diedBefore(server: ChildProcess, closing: AbortSignal): Promise<boolean> {
  if (hasEnded(server)) return !closing.aborted;
  await once(server, 'close', { signal: closing }).catch(() => undefined);
  return !closing.aborted;
}

/** The data folder, or, if the path of a socket in it is too long, a short private folder. */
async function chooseSocketFolder(cluster: Cluster): Promise<{ folder: string; remove(): Promise<void> }> {
  const inData = path.join(cluster.folder, SOCKET);
  if (Buffer.byteLength(inData) <= MAX_SOCKET_PATH)
    return { folder: cluster.folder, remove: () => rm(inData, { force: true }) };
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-'));
  if (cluster.account !== undefined) await chown(folder, cluster.account.uid, cluster.account.gid);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
