/** The databases the bench runs on: the embedded one, and a separate Postgres on an existing or new server. */
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { freePort } from './children.ts';

export interface BenchPostgres {
  url: string;
  /** Which server it is, human-readable. */
  server: string;
  close(): Promise<void>;
}

/** An empty database on the server of DATABASE_URL, else on a cluster created for this run; undefined without either. */
export async function openPostgres(): Promise<BenchPostgres | undefined> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '')
    return await makeDatabase(given, 'DATABASE_URL', () => Promise.resolve());
  const binaries = findBinaries();
  if (binaries === undefined) return undefined;
  const cluster = await startCluster(binaries);
  return await makeDatabase(cluster.url, 'a throw-away cluster', () => cluster.close());
}

/** The bench never touches existing tables: it creates its own database and drops it. */
async function makeDatabase(
  server: string,
  name: string,
  after: () => Promise<void>,
): Promise<BenchPostgres> {
  const admin = postgres(server, { max: 1, onnotice: () => undefined });
  const database = `parley_bench_${process.pid}_${Date.now()}`;
  await admin`create database ${admin(database)}`;
  const url = new URL(server);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    server: name,
    async close() {
      await admin`drop database ${admin(database)} with (force)`;
      await admin.end();
      await after();
    },
  };
}

/** The folder of initdb and postgres: on the PATH, or where Debian keeps them. */
function findBinaries(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : [];
  const folders = [
    ...(process.env['PATH'] ?? '').split(path.delimiter),
    ...versions.map((v) => path.join(debian, v, 'bin')),
  ];
  return folders.find((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(path.join(folder, name))),
  );
}

async function startCluster(binaries: string): Promise<{ url: string; close(): Promise<void> }> {
  const data = await mkdtemp(path.join(tmpdir(), 'parley-bench-pg-'));
  const user = unprivileged();
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  execFileSync(path.join(binaries, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], {
    stdio: 'ignore',
    ...user,
  });
  const port = await freePort();
  const child = spawn(
    path.join(binaries, 'postgres'),
    ['-D', data, '-p', String(port), '-k', data, '-h', '127.0.0.1'],
    {
      stdio: 'ignore',
      ...user,
    },
  );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await whenUp(url);
  return {
    url,
    async close() {
      const gone = once(child, 'exit');
      child.kill('SIGINT');
      await gone;
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** Postgres refuses to run as root; then its own user runs it. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function whenUp(url: string): Promise<void> {
  const probe = postgres(url, { max: 1, connect_timeout: 1 });
  for (let tries = 0; ; tries += 1) {
    try {
      await probe`select 1`;
      await probe.end();
      return;
    } catch (error) {
      if (tries > 200) throw error;
      await pause(50);
    }
  }
}
