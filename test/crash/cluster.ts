/** A dedicated Postgres for the test, from the machine's binaries, on a Unix socket in a temporary folder. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { mountDisk, unmountDisk } from './small-disk.ts';

const run = promisify(execFile);
/** Time after which a cluster that lost a backend has ended all others, in milliseconds. */
const RECOVERY_BEGINS_MS = 100;
const INSTALLED = '/usr/lib/postgresql';

export interface Cluster {
  /** What a gateway needs to find it: postgres.js reads the socket's folder from PGHOST. */
  environment: Record<string, string>;
  /** The same for a client in this process. */
  socketPath: string;
  /** Holds the tables. */
  dataFolder: string;
  /** `fast` ends open sessions cleanly, `immediate` is a crash. Resolves when it answers again. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
  /** Resolves when it answers again after it ended its sessions on its own. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** The folder of the newest `initdb` on this machine; undefined when there is none. */
export function postgresBinaries(): string | undefined {
  if (!existsSync(INSTALLED)) return undefined;
  const folders = readdirSync(INSTALLED)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => path.join(INSTALLED, version, 'bin'));
  return folders.find((folder) => existsSync(path.join(folder, 'initdb')));
}

/**
 * Creates and starts a cluster. As root it runs under the account `postgres`, because Postgres refuses root. `prepare`
 * puts files into its folder and returns further settings; without it the cluster listens only on a Unix socket. With
 * `diskMb` its tables are on a disk of that many MiB, which only root can create; its write-ahead log is elsewhere.
 */
export async function startCluster(
  binaries: string,
  prepare: (folder: string) => Promise<readonly string[]> = async () => ["listen_addresses=''"],
  diskMb?: number,
): Promise<Cluster> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-pg-'));
  const settings = [`unix_socket_directories='${folder}'`, ...(await prepare(folder))];
  const asRoot = process.getuid?.() === 0;
  const data = path.join(folder, 'data');
  if (diskMb !== undefined) await mountDisk(data, diskMb);
  if (asRoot) await giveToPostgres(folder);
  const call = async (program: string, ...args: string[]): Promise<void> => {
    const command = path.join(binaries, program);
    if (asRoot)
      await run('setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', command, ...args], {
        cwd: folder,
      });
    else await run(command, args, { cwd: folder });
  };
  const log = path.join(folder, 'log');
  const writes = ['--waldir', path.join(folder, 'writes')];
  await call('initdb', '-D', data, ...writes, '-U', 'postgres', '-A', 'trust', '--no-sync');
  const control = (...args: string[]): Promise<void> => call('pg_ctl', '-D', data, '-l', log, '-w', ...args);
  await control('-o', settings.map((setting) => `-c ${setting}`).join(' '), 'start');
  return {
    environment: { DATABASE_URL: 'postgres:///postgres', PGHOST: folder, PGUSER: 'postgres' },
    socketPath: path.join(folder, '.s.PGSQL.5432'),
    dataFolder: data,
    restart: (mode) => control('-m', mode, 'restart'),
    async ready() {
      await pause(RECOVERY_BEGINS_MS);
      for (;;) {
        try {
          await call('pg_isready', '-h', folder);
          return;
        } catch {
          await pause(RECOVERY_BEGINS_MS);
        }
      }
    },
    async close() {
      await control('-m', 'immediate', 'stop');
      if (diskMb !== undefined) await unmountDisk(data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function giveToPostgres(folder: string): Promise<void> {
  const [user, group] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
  );
  const files = (await readdir(folder)).map((name) => path.join(folder, name));
  for (const place of [folder, ...files]) await chown(place, user ?? 0, group ?? 0);
}
