/** A Postgres server for tests, from the programs among the packages, on a Unix socket in a temporary folder. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { type Account, commandAs, findPrograms } from '../../src/store/embedded/programs.ts';
import { mountDisk, unmountDisk } from './small-disk.ts';

const run = promisify(execFile);
/** Time after which a cluster that lost a backend has ended all others, in milliseconds. */
const RECOVERY_BEGINS_MS = 100;
/** How often a starting server is asked, in milliseconds. */
const POLL_MS = 20;
/** Time a server may take to start, in milliseconds. */
const START_MS = 60_000;
/** Postgres refuses root. This account of its own runs the server: tests limit the processes of the one without rights. */
const OWN_ACCOUNT = { uid: 65_525, gid: 65_525 };
/** Runs initdb, which wants a user with a name. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const asRoot = process.getuid?.() === 0;
/**
 * Runs the server as a child of a shell whose input this process holds, so that it ends with this process however that
 * ends. A line of input names the signal that stops it; the end of input is an immediate stop for good.
 */
const GUARD =
  '"$@" & server=$!; read -r signal; kill -"${signal:-QUIT}" $server; wait $server; [ -n "$signal" ] || rm -rf "$0"';

export interface Cluster {
  /** What a gateway needs to find it: postgres.js reads the socket's folder from PGHOST. */
  environment: { DATABASE_URL: string; PGHOST: string; PGUSER: string };
  /** The same for a client in this process. */
  socketPath: string;
  /** Holds the tables. */
  dataFolder: string;
  /** `fast` ends open sessions cleanly, `immediate` is a crash. Resolves when it answers again. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
  /**
   * Makes a standby from a base backup while others write, waits until each commit waits for it, crashes the primary after `loadMs`
   * more, and promotes the standby, which then has the primary's address. Not with `diskMb`.
   */
  failOver(loadMs: number): Promise<void>;
  /** Resolves when it answers again after it ended its sessions on its own. */
  ready(): Promise<void>;
  close: () => Promise<void>;
}

export interface ClusterOptions {
  /** Settings of the server, as `name=value`; by default it listens on its Unix socket only. */
  settings?: readonly string[];
  /** Puts files into its folder and returns further settings. */
  prepare?: (folder: string) => Promise<readonly string[]>;
  /** Its tables are on a disk of that many MiB, which only root can create; its write-ahead log is elsewhere. */
  diskMb?: number | undefined;
  port?: number;
}

/**
 * The server that DATABASE_URL names, else a cluster of its own, to which PGHOST and PGUSER of this process and its
 * children lead then. `isOwn` = it takes everything on it along when it is closed.
 */
export async function openServer(
  settings: readonly string[] = [],
): Promise<{ url: string; isOwn: boolean; close(): Promise<void> }> {
  const { DATABASE_URL: given } = process.env;
  if (given) return { url: given, isOwn: false, close: () => Promise.resolve() };
  const { environment, close } = await startCluster({ settings });
  const { DATABASE_URL: url, ...socket } = environment;
  Object.assign(process.env, socket);
  return { url, isOwn: true, close };
}

/** Creates and starts a cluster. Throws, with the server's log, if it does not start. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { settings = [], prepare, diskMb, port = 5432 } = options;
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-pg-'));
  const further = (await prepare?.(folder)) ?? [];
  const { initdb, postgres: server, environment } = await findPrograms(path.join(folder, 'libraries'));
  let data = path.join(folder, 'data');
  if (diskMb !== undefined) await mountDisk(data, diskMb);
  if (asRoot) await give(folder, NOBODY);
  const env = { ...environment, PATH: process.env['PATH'] };
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  const writes = `--waldir=${path.join(folder, 'writes')}`;
  const user = ['-U', 'postgres', '-A', 'trust'];
  const [program, args] = as(NOBODY, initdb, ['-D', data, writes, ...user, '--no-sync', ...locale]);
  await run(program, args, { cwd: '/', env });
  if (asRoot) await give(folder, OWN_ACCOUNT);
  const commandOf = (dataFolder: string, ...own: readonly string[]): [string, string[]] => {
    const all = ['listen_addresses=', `unix_socket_directories=${folder}`, ...own, ...settings, ...further];
    return as(OWN_ACCOUNT, server, ['-D', dataFolder, ...all.flatMap((setting) => ['-c', setting])]);
  };
  let command = commandOf(data, `port=${port}`);
  const socketPath = path.join(folder, `.s.PGSQL.${port}`);
  const log = path.join(folder, 'log');
  let guard = await startServer({ folder, command, env, log, socketPath });
  let nextPort = port;
  return {
    environment: { DATABASE_URL: 'postgres:///postgres', PGHOST: folder, PGUSER: 'postgres' },
    socketPath,
    get dataFolder() {
      return data;
    },
    async restart(mode) {
      await end(guard, mode === 'fast' ? 'INT\n' : 'QUIT\n');
      guard = await startServer({ folder, command, env, log, socketPath });
    },
    async failOver(loadMs) {
      nextPort += 1;
      const copy = path.join(folder, `data${nextPort}`);
      await baseBackup(socketPath, data, copy);
      if (asRoot) await give(copy, OWN_ACCOUNT);
      command = commandOf(
        copy,
        `port=${nextPort}`,
        `primary_conninfo=host=${folder} port=${nextPort - 1} user=postgres`,
      );
      const standbyPath = path.join(folder, `.s.PGSQL.${nextPort}`);
      const standby = await startServer({ folder, command, env, log, socketPath: standbyPath });
      await waitForStandby(socketPath);
      await pause(loadMs);
      await end(guard, 'QUIT\n');
      await onServer(standbyPath, (sql) => sql`select pg_promote()`);
      await rm(socketPath, { force: true });
      await symlink(standbyPath, socketPath);
      [guard, data] = [standby, copy];
    },
    async ready() {
      await pause(RECOVERY_BEGINS_MS);
      while (!(await answers(socketPath))) await pause(POLL_MS);
    },
    async close() {
      await end(guard);
      if (diskMb === undefined) return;
      await unmountDisk(data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A copy of the data of a running server, which becomes its standby. */
async function baseBackup(socketPath: string, data: string, copy: string): Promise<void> {
  await onServer(socketPath, async (sql) => {
    await sql`select pg_backup_start('standby', true)`;
    // Files may vanish meanwhile: then cp goes on, and fails in the end.
    await run('cp', ['-a', data, copy]).catch((error: Error) => {
      if (!/No such file/.test(error.message)) throw error;
    });
    const [label] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`;
    for (const name of ['pg_wal', 'postmaster.pid', 'postmaster.opts'])
      await rm(path.join(copy, name), { force: true, recursive: true });
    await mkdir(path.join(copy, 'pg_wal'), { mode: 0o700 });
    await writeFile(path.join(copy, 'backup_label'), label?.labelfile ?? '');
    await writeFile(path.join(copy, 'standby.signal'), '');
  });
}

/** Resolves once each commit waits for the standby. */
async function waitForStandby(socketPath: string): Promise<void> {
  await onServer(socketPath, async (sql) => {
    await sql`alter system set synchronous_standby_names = '*'`;
    await sql`select pg_reload_conf()`;
    while ((await sql`select from pg_stat_replication where sync_state = 'sync'`).length === 0)
      await pause(POLL_MS);
  });
}

async function onServer<T>(socketPath: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres({
    path: socketPath,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    fetch_types: false,
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 0 });
  }
}

interface Server {
  folder: string;
  command: [string, string[]];
  env: NodeJS.ProcessEnv;
  log: string;
  socketPath: string;
}

/** Resolves with the shell around the server once it answers. Throws, with the server's log, if it does not within `START_MS`. */
async function startServer({ folder, command, env, log, socketPath }: Server): Promise<ChildProcess> {
  const output = await open(log, 'a');
  const [program, args] = command;
  const guard = spawn('sh', ['-c', GUARD, folder, program, ...args], {
    cwd: '/',
    env,
    // Not in the terminal's group: Ctrl+C ends the tests first.
    detached: true,
    stdio: ['pipe', output.fd, output.fd],
  });
  await output.close();
  const deadline = performance.now() + START_MS;
  while (!(await answers(socketPath))) {
    if (performance.now() > deadline) {
      const lines = await readFile(log, 'utf8');
      await end(guard);
      throw new Error(`Postgres did not start: ${lines}`);
    }
    await pause(POLL_MS);
  }
  return guard;
}

/** Stops the server with the signal in `line`; without one at once, and removes its folder. */
async function end(guard: ChildProcess, line?: string): Promise<void> {
  const closed = once(guard, 'close');
  guard.stdin?.end(line);
  await closed;
}

async function answers(socketPath: string): Promise<boolean> {
  const sql = postgres({
    path: socketPath,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    connect_timeout: 5,
  });
  try {
    await sql`select`;
    return true;
  } catch {
    // Not yet.
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** The command that runs a program as `account` for root, and as this user for any other. */
function as(account: Account, program: string, args: string[]): [string, string[]] {
  return asRoot ? commandAs(account, program, args) : [program, args];
}

/** Gives away the folder and all that is in it; not what its links lead to, the packages. */
async function give(folder: string, { uid, gid }: Account): Promise<void> {
  await run('chown', ['-hR', `${uid}:${gid}`, folder]);
}
