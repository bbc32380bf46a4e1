/** Inspects a database without changing it, even one that this program could not work with. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type { DatabaseReport, NodeSettings, NodeStatus } from '../protocol/operator/nodes.ts';
import { serverOf } from '../lib/connection-url.ts';
import { connect, type DatabasePlace, type Sql } from './database/database.ts';
import { knownMigrations } from './database/migrate.ts';
import { withRetry } from './database/retry.ts';
import { VERSION_FILE } from './embedded/data-folder.ts';
import { liveHolder } from './embedded/home.ts';
import { errorCode } from '../protocol/errors.ts';

/** How long to retry an unreachable database, in milliseconds. */
const TRY_MS = 3_000;
const SCHEMA = 'public';

/** The database for these settings, and the process that holds the home, if one is running. Throws `StoreError`. */
export async function inspectDatabase(options: {
  home: string;
  databaseUrl: string | undefined;
}): Promise<DatabaseReport> {
  const { home, databaseUrl } = options;
  if (databaseUrl !== undefined) return await ask({ url: databaseUrl, schema: SCHEMA }, 'postgres');
  const holder = await liveHolder(home);
  if (holder?.socketPath === undefined) return await inspectFolder(path.join(home, 'pg'));
  return await ask({ socketPath: holder.socketPath, schema: SCHEMA }, 'embedded');
}

/** The id of the process that holds this home now; undefined if none does. Never throws for a missing home. */
export async function holderOf(home: string): Promise<number | undefined> {
  return (await liveHolder(home))?.pid;
}

async function ask(place: DatabasePlace, kind: 'postgres' | 'embedded'): Promise<DatabaseReport> {
  const client = connect({ ...place, applicationName: 'parley doctor' }, 1, { connect_timeout: 3 });
  try {
    return await withRetry(() => read(client, kind), {
      forMs: TRY_MS,
      server: place.url === undefined ? undefined : serverOf(place.url),
    });
  } finally {
    await client.end({ timeout: 0 });
  }
}

async function read(sql: Sql, kind: 'postgres' | 'embedded'): Promise<DatabaseReport> {
  await sql`select 1`;
  const startedAt = Date.now();
  const [server] = await sql<{ version: string; at: Date; bytes: string }[]>`
    select current_setting('server_version') as version, clock_timestamp() as at`;
  const endedAt = Date.now();
  const [size] = await sql<{ bytes: string }[]>`select pg_database_size(current_database()) as bytes`;
  const tables = await tablesOf(sql);
  const readable = tables === 'current' || tables === 'newer';
  const statuses = readable ? await statusesOf(sql) : [];
  return {
    state: 'open',
    kind,
    version: server?.version.split(' ')[0] ?? '',
    clockAheadMs: (server?.at.getTime() ?? endedAt) - (startedAt + endedAt) / 2,
    clockErrorMs: (endedAt - startedAt) / 2,
    tables,
    bytes: Number(size?.bytes ?? 0),
    nodes: readable ? await nodesOf(sql) : [],
    model: readable ? await modelOf(sql) : undefined,
    servers: readable ? await serversOf(sql) : [],
    omissions: statuses.flatMap(({ model }) => model?.omissions ?? []),
    backups: statuses.flatMap(({ backup }) => backup ?? []),
  };
}

async function tablesOf(sql: Sql) {
  const [journal] = await sql<
    { found: boolean }[]
  >`select to_regclass(${`"${SCHEMA}".migration`}) is not null as found`;
  if (journal?.found !== true) return 'none';
  const migrations = knownMigrations();
  const applied = (await sql<{ at: string }[]>`select created_at as at from ${sql(SCHEMA)}.migration`).map(
    ({ at }) => Number(at),
  );
  const unknown = applied.filter((at) => !migrations.includes(at));
  if (unknown.length > 0) return Math.min(...unknown) < Math.min(...migrations) ? 'unreleased' : 'newer';
  return applied.length < migrations.length ? 'behind' : 'current';
}

async function nodesOf(sql: Sql): Promise<(NodeSettings & { instance: string })[]> {
  return [
    ...(await sql<(NodeSettings & { instance: string })[]>`
      select distinct instance, version, digests from node_settings join node using (instance)
      where lease_until > now() order by instance`),
  ];
}

async function modelOf(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ value: string }[]>`select value from choice where name = 'model'`;
  return row?.value;
}

async function serversOf(sql: Sql): Promise<McpServerStatus[]> {
  const rows = await sql<{ servers: McpServerStatus[] }[]>`
    select distinct instance, servers from mcp_status join node using (instance) where lease_until > now()`;
  return rows.flatMap(({ servers }) => servers);
}

async function statusesOf(sql: Sql): Promise<NodeStatus[]> {
  const rows = await sql<{ status: NodeStatus }[]>`
    select distinct instance, status from node_status join node using (instance) where lease_until > now()`;
  return rows.map(({ status }) => status);
}

async function inspectFolder(folder: string): Promise<DatabaseReport> {
  let files: string[];
  try {
    files = await readdir(folder, { recursive: true });
  } catch (error) {
    const code = errorCode(error) || 'unknown';
    if (code === 'ENOENT') return { state: 'closed', folder: 'missing', bytes: 0 };
    return { state: 'closed', folder: 'unreadable', code };
  }
  if (files.length === 0) return { state: 'closed', folder: 'missing', bytes: 0 };
  let bytes = 0;
  // A gateway that is just starting may remove one of them.
  for (const file of files) bytes += (await stat(path.join(folder, file)).catch(() => undefined))?.size ?? 0;
  return { state: 'closed', folder: files.includes(VERSION_FILE) ? 'complete' : 'incomplete', bytes };
}
