/** The embedded database: a Postgres of the home's own, a child of this process, reached over a unix socket. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isRetryable } from '../../protocol/errors.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Log, StartProgress } from '../../protocol/log.ts';
import { type Cluster, prepareCluster } from './data-folder.ts';
import { endServer, hasEnded, startServer } from './server.ts';
import { promisify } from 'node:util';

const POLL_MS = 20;

/** The name of the socket of Postgres in its folder, for the port 5432. */
const SOCKET = '.s.PGSQL.5432';

/** How long a clean shutdown may take, in milliseconds; then it ends at once, which loses nothing committed. */
const SHUTDOWN_MS = 15_000;

/** Each line is the pid of Postgres from now on; empty = there is none. Then the pipe ends. */
const SCRIPT = 'while read -r line; do pid=$line; done; [ -z "$pid" ] || kill -INT "$pid"';

/** A shell that has lived shorter does not work here, in milliseconds: another one would not, either. */
const WORKS_MS = 1_000;

interface Watchdog {
  /** Postgres is this process now; undefined = none. Never throws. */
  watch(pid: number | undefined): void;
  /** Postgres has ended. Never throws. */
  end(): void;
}

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

/** Connections for one process and its commands. */
const CONNECTIONS = 100;

/**
 * Opens the database of `home`, making one if needed; the home's lock must be held. A crashed server is restarted on the
 * same socket until that works (a full disk may be freed), and callers repeat their calls. It ends with this process.
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

/** Starts a server once the previous one, whoever started it, is completely gone. Throws `StoreError`. */
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

/** Starts it. A watchdog that is killed is replaced. Never throws. */
function startWatchdog(log: Log): Watchdog {
  let pid: number | undefined;
  let isOver = false;
  let shell = start();
  return {
    watch: (next) => tell(shell, (pid = next)),
    end() {
      isOver = true;
      tell(shell, undefined);
      shell.stdin?.end();
    },
  };

  function start(): ChildProcess {
    const since = performance.now();
    // A session of its own: what a terminal sends to all its processes does not reach it.
    const child = spawn('sh', ['-c', SCRIPT], {
      cwd: '/',
      detached: true,
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.on('error', (error) => log.warn({ err: error }, 'embedded_database_unguarded'));
    // It ended: the listener below starts another.
    child.stdin.on('error', () => undefined);
    child.once('exit', (code, signal) => {
      if (isOver) return;
      if (performance.now() - since < WORKS_MS) log.warn({ code, signal }, 'embedded_database_unguarded');
      else tell((shell = start()), pid);
    });
    child.unref();
    if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
    return child;
  }

  function tell(child: ChildProcess, watched: number | undefined): void {
    child.stdin?.write(`${watched ?? ''}\n`);
  }
}

/**
 * Ends a Postgres left by an earlier process: the home's lock is held, so no gateway uses it. A pid that another program
 * has by now (a restarted container) is replaced by this process's own, which Postgres ignores in its parent. Never throws.
 */
async function endSurvivor(folder: string, log: Log): Promise<void> {
  const file = path.join(folder, 'postmaster.pid');
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!(pid > 0) || !isRunning(pid)) return;
  if (await runsOn(pid, folder)) return await end(pid, log);
  try {
    await writeFile(file, [process.pid, ...lines.slice(1)].join('\n'));
    // It names the same pid, and says no more than the other file.
    await rm(path.join(folder, `${SOCKET}.lock`), { force: true });
  } catch (error) {
    log.warn({ err: error }, 'embedded_database_pid_not_replaced');
  }
}

/** Shuts it down cleanly; at once if that takes too long. Never throws. */
async function end(pid: number, log: Log): Promise<void> {
  log.warn({ pid }, 'embedded_database_survivor_ended');
  kill(pid, 'SIGINT');
  const deadline = performance.now() + SHUTDOWN_MS;
  while (isRunning(pid) && performance.now() < deadline) await sleep(POLL_MS);
  if (isRunning(pid)) kill(pid, 'SIGQUIT');
  while (isRunning(pid) && performance.now() < deadline + SHUTDOWN_MS) await sleep(POLL_MS);
}

function isRunning(pid: number): boolean {
  return kill(pid, 0);
}

/** False if there is no such process, or it belongs to another user. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Every process of Postgres works in its data folder. */
async function runsOn(pid: number, folder: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]);
    return stdout.includes('postgres') && stdout.includes(folder);
  }
  try {
    const [its, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(folder)]);
    return its.dev === ours.dev && its.ino === ours.ino;
  } catch {
    // It belongs to another user, or has just ended.
    return false;
  }
}
