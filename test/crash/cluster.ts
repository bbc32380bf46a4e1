/** A Postgres of the test's own, from the machine's binaries, on a unix socket in a temporary folder. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALLED = '/usr/lib/postgresql';

export interface Cluster {
  /** What a gateway needs to find it: postgres.js reads the socket's folder from PGHOST. */
  environment: Record<string, string>;
  /** The same for a client in this process. */
  socketPath: string;
  /** `fast` ends open sessions in order, `immediate` is a crash. Resolves when it answers again. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
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

/** Makes and starts a cluster. As root it runs under the account `postgres`, for Postgres refuses root. */
export async function startCluster(binaries: string): Promise<Cluster> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-pg-'));
  const asRoot = process.getuid?.() === 0;
  if (asRoot) await giveToPostgres(folder);
  const call = async (program: string, ...args: string[]): Promise<void> => {
    const command = path.join(binaries, program);
    if (asRoot)
      await run('setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', command, ...args], {
        cwd: folder,
      });
    else await run(command, args, { cwd: folder });
  };
  const data = path.join(folder, 'data');
  const log = path.join(folder, 'log');
  await call('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync');
  const control = (...args: string[]): Promise<void> => call('pg_ctl', '-D', data, '-l', log, '-w', ...args);
  await control('-o', `-c listen_addresses='' -c unix_socket_directories='${folder}'`, 'start');
  return {
    environment: { DATABASE_URL: 'postgres:///postgres', PGHOST: folder, PGUSER: 'postgres' },
    socketPath: path.join(folder, '.s.PGSQL.5432'),
    restart: (mode) => control('-m', mode, 'restart'),
    async close() {
      await control('-m', 'immediate', 'stop');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function giveToPostgres(folder: string): Promise<void> {
  const [user, group] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
  );
  await chown(folder, user ?? 0, group ?? 0);
}
