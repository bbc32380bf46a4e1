/** What the gateways on this database report about themselves: what they started with, and their state. */
import type { NodeReportStore, NodeStatus } from '../../../protocol/operator/nodes.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import type { Database } from '../../database/database.ts';

interface LiveRow {
  instance: string;
  leaseMs: number;
  version: string | null;
  status: NodeStatus | null;
}

/** The `NodeReportStore` over a database. */
export function createNodeReports(database: Database): NodeReportStore {
  return {
    saveNodeSettings: (instance, { version, digests }) =>
      database.run(async (sql) => {
        await sql`
          insert into node_settings (instance, version, digests)
          values (${instance}, ${version}, ${cleanJson(digests)}::jsonb)
          on conflict (instance) do update set version = excluded.version, digests = excluded.digests`;
      }),
    saveNodeStatus: (instance, status) =>
      database.run(async (sql) => {
        await sql`
          insert into node_status (instance, status) values (${instance}, ${cleanJson(status)}::jsonb)
          on conflict (instance) do update set status = excluded.status`;
      }),
    liveNodes: () =>
      database.run(async (sql) => {
        const rows = await sql<LiveRow[]>`
          with live as (
            select instance, max(lease_until) as until from node where lease_until > now() group by instance)
          select instance, extract(epoch from until - now())::float8 * 1000 as "leaseMs", version, status
          from live left join node_settings using (instance) left join node_status using (instance)
          order by instance`;
        return rows.map(({ instance, leaseMs, version, status }) => ({
          instance,
          leaseMs: Math.round(leaseMs),
          version: version ?? undefined,
          status: status ?? undefined,
        }));
      }),
  };
}
