/** Inspects a database without changing it, even one that this program could not work with. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type {
  DatabaseReport,
  KnowledgeReport,
  NodeSettings,
  NodeStatus,
} from '../protocol/operator/nodes.ts';
import { serverOf } from '../lib/connection-url.ts';
import { connect, type DatabasePlace, type Sql } from './database/database.ts';
import { readJournal } from './database/migrate.ts';
import { withRetry } from './database/retry.ts';
import { acceptedMigrations } from './embedded/accepted-migrations.ts';
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
  const accepted = acceptedMigrations(home);
  if (databaseUrl !== undefined) return await ask({ url: databaseUrl, schema: SCHEMA }, 'postgres', accepted);
  const holder = await liveHolder(home);
  if (holder?.socketPath === undefined) return await inspectFolder(path.join(home, 'pg'));
  return await ask({ socketPath: holder.socketPath, schema: SCHEMA }, 'embedded', accepted);
}

/** The id of the process that holds this home now; undefined if none does. Never throws for a missing home. */
export async function holderOf(home: string): Promise<number | undefined> {
  return (await liveHolder(home))?.pid;
}

async function ask(
  place: DatabasePlace,
  kind: 'postgres' | 'embedded',
  accepted: readonly number[],
): Promise<DatabaseReport> {
  const client = connect({ ...place, applicationName: 'parley doctor' }, 1, { connect_timeout: 3 });
  try {
    return await withRetry(() => read(client, kind, accepted), {
      forMs: TRY_MS,
      server: place.url === undefined ? undefined : serverOf(place.url),
    });
  } finally {
    await client.end({ timeout: 0 });
  }
}

async function read(
  sql: Sql,
  kind: 'postgres' | 'embedded',
  accepted: readonly number[],
): Promise<DatabaseReport> {
  await sql`select 1`;
  const startedAt = Date.now();
  const [server] = await sql<{ version: string; at: Date }[]>`
    select current_setting('server_version') as version, clock_timestamp() as at`;
  const endedAt = Date.now();
  const [size] = await sql<{ bytes: string }[]>`select pg_database_size(current_database()) as bytes`;
  const { state: tables } = await readJournal(sql, SCHEMA, { accepted });
  const report = {
    state: 'open',
    kind,
    version: server?.version.split(' ')[0] ?? '',
    clockAheadMs: (server?.at.getTime() ?? endedAt) - (startedAt + endedAt) / 2,
    clockErrorMs: (endedAt - startedAt) / 2,
    tables,
    bytes: Number(size?.bytes ?? 0),
  } as const;
  if (tables !== 'current' && tables !== 'newer')
    return { ...report, nodes: [], servers: [], omissions: [], backups: [], lateEvents: 0 };
  const nodes = await sql<(NodeSettings & { instance: string })[]>`
    select distinct instance, version, digests from node_settings join node using (instance)
    where lease_until > now() order by instance`;
  const [choice] = await sql<{ model: string }[]>`select value as model from choice where name = 'model'`;
  const servers = await sql<{ servers: McpServerStatus[] }[]>`
    select distinct instance, servers from mcp_status join node using (instance) where lease_until > now()`;
  const statuses = await sql<{ status: NodeStatus }[]>`
    select distinct instance, status from node_status join node using (instance) where lease_until > now()`;
  return {
    ...report,
    nodes: [...nodes],
    model: choice?.model,
    servers: servers.flatMap((row) => row.servers),
    knowledge: await readKnowledge(sql),
    omissions: statuses.flatMap(({ status }) => status.model?.omissions ?? []),
    backups: statuses.flatMap(({ status }) => status.backup ?? []),
    lateEvents: statuses.filter(({ status }) => status.events?.state === 'degraded').length,
  };
}

/** Undefined without documents. */
async function readKnowledge(sql: Sql): Promise<KnowledgeReport | undefined> {
  const [row] = await sql<(KnowledgeReport & { model: string | null })[]>`
    select (select count(*)::int from knowledge_document) as documents,
      (select count(*)::int from knowledge_document where problem is not null) as failed,
      (select count(*)::int from knowledge_passage) as passages,
      (select count(*)::int from knowledge_passage where vector_model is not null) as vectors,
      (select vector_model from knowledge_passage where vector_model is not null order by id desc limit 1) as model`;
  if (row === undefined || row.documents === 0) return undefined;
  return { ...row, model: row.model ?? undefined };
}

async function inspectFolder(folder: string): Promise<DatabaseReport> {
  let files: string[];
  try {
    files = await readdir(folder, { recursive: true });
  } catch (error) {
    const code = errorCode(error) || 'unknown';
    // A home below a file has a finding of its own.
    const hasHome = await readdir(path.dirname(folder)).then(
      () => true,
      () => false,
    );
    if (code === 'ENOENT' || (code === 'ENOTDIR' && !hasHome))
      return { state: 'closed', folder: 'missing', bytes: 0 };
    return { state: 'closed', folder: 'unreadable', code };
  }
  if (files.length === 0) return { state: 'closed', folder: 'missing', bytes: 0 };
  let bytes = 0;
  // A gateway that is just starting may remove one of them.
  for (const file of files) bytes += (await stat(path.join(folder, file)).catch(() => undefined))?.size ?? 0;
  return { state: 'closed', folder: files.includes(VERSION_FILE) ? 'complete' : 'incomplete', bytes };
}
