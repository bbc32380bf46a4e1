/** The databases of a crash run: a fresh one on a server, one in a dedicated cluster, or the embedded one of a home. */
import { WHOLE_HOME } from '../database.ts';
import { readdirSync, readlinkSync } from 'node:fs';
import { cp, lstat, rm } from 'node:fs/promises';
import path from 'node:path';
import type postgres from 'postgres';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/ops/log.ts';
import { withRetry } from '../../src/store/database/retry.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { openTcpProxy, type TcpProxy } from '../fakes/network/tcp-proxy.ts';
import { socketOfPostgres } from '../postgres-socket.ts';
import type { Cluster } from './cluster.ts';
import { until } from './moments.ts';
import { connect, type TablePlace } from './rows.ts';

export type Look<T> = (sql: postgres.Sql) => Promise<T>;

/** One database, as the run and its gateways reach it. */
export interface RunDatabase {
  /** Environment of the gateways; `at` counts them. */
  environment(at: number): Record<string, string>;
  /** Between each gateway and the server; empty without proxies. */
  proxies: TcpProxy[];
  read<T>(look: Look<T>): Promise<T>;
  /** Saves the current state of the tables, to be read later. */
  keep<T>(look: Look<T>): Promise<() => Promise<T>>;
  close(): Promise<void>;
}

const silent = createLog({ level: 'silent', redact: (text) => text });

/** How long a Postgres takes to end after its gateway was killed, in milliseconds; one whose watchdog died, too, goes on. */
const END_MS = 3_000;

/** Whether a process works in the folder, as each process of a Postgres does in its data folder. */
function isInUse(folder: string): boolean {
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readlinkSync(`/proc/${name}/cwd`) === folder;
    } catch {
      // It has just ended, or belongs to somebody else.
      return false;
    }
  });
}

/**
 * The database of a home. Its process usually ends with the gateway, before its state is saved: then the files are copied
 * and opened on request.
 */
export function embeddedDatabase(folder: string): RunDatabase {
  const home = path.join(folder, 'home0');
  const place = { socketPath: path.join(home, 'pg', '.s.PGSQL.5432') };
  // A killed database is there again within seconds.
  const read = <T>(look: Look<T>): Promise<T> => withRetry(() => readOnce(place, look));
  return {
    environment: () => ({}),
    proxies: [],
    read,
    async keep(look) {
      const copy = path.join(folder, `copy-${newId()}`);
      const data = path.join(home, 'pg');
      if (!(await until(() => !isInUse(data), END_MS))) {
        const seen = await read(look);
        return () => Promise.resolve(seen);
      }
      await cp(data, path.join(copy, 'pg'), {
        recursive: true,
        filter: async (source) => !(await lstat(source)).isSocket(),
      });
      return () => readCopy(copy, look);
    },
    close: () => Promise.resolve(),
  };
}

/** The database of a cluster that the run started. */
export function clusterDatabase({ environment, socketPath }: Cluster): RunDatabase {
  return postgresDatabase({ socketPath }, () => environment);
}

/** A fresh database on a server, dropped after the run; behind `proxies` proxies, one for each gateway. */
export async function serverDatabase(serverUrl: string, proxies: number): Promise<RunDatabase> {
  const name = `crash_${newId().replaceAll('-', '')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await readOnce({ url: serverUrl }, (sql) => sql.unsafe(`create database ${name}`));
  const target =
    url.hostname === ''
      ? { path: path.join(process.env['PGHOST'] ?? '/var/run/postgresql', '.s.PGSQL.5432') }
      : { host: url.hostname, port: Number(url.port || 5432) };
  const opened = await Promise.all(Array.from({ length: proxies }, () => openTcpProxy(target)));
  const urls = opened.map(({ port }) => {
    const proxied = new URL(url);
    proxied.host = `127.0.0.1:${port}`;
    return proxied.href;
  });
  const database = postgresDatabase({ url: url.href }, (at) => ({
    DATABASE_URL: urls[at] ?? url.href,
    ...socketOfPostgres(),
  }));
  return {
    ...database,
    proxies: opened,
    async close() {
      await Promise.all(opened.map((proxy) => proxy.close()));
      await readOnce({ url: serverUrl }, (sql) => sql.unsafe(`drop database ${name} with (force)`));
    },
  };
}

/** On Postgres, the saved state is read immediately. */
function postgresDatabase(place: TablePlace, environment: RunDatabase['environment']): RunDatabase {
  const read = <T>(look: Look<T>): Promise<T> => readOnce(place, look);
  return {
    environment,
    proxies: [],
    read,
    async keep(look) {
      const seen = await read(look);
      return () => Promise.resolve(seen);
    },
    close: () => Promise.resolve(),
  };
}

async function readOnce<T>(place: TablePlace, look: Look<T>): Promise<T> {
  const sql = connect(place);
  try {
    return await look(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function readCopy<T>(home: string, look: Look<T>): Promise<T> {
  const embedded = await openEmbedded(home, silent);
  try {
    return await readOnce(embedded, look);
  } finally {
    await embedded.close();
    await rm(home, WHOLE_HOME);
  }
}
