/** What the nodes of this database report about their MCP servers, for the command line. */
import type { McpStatusStore } from '../../protocol/agent/tool.ts';
import type { Database } from '../database/database.ts';
import { asc, eq, gte, sql } from '../database/drizzle.ts';
import { mcpStatus, node } from '../database/schema.ts';

/** Creates the store of these reports. */
export function createMcpStatus(database: Database): McpStatusStore {
  return {
    saveMcpStatus: (instance, servers) =>
      database.query(async (orm) => {
        const set = { servers: [...servers] };
        await orm
          .insert(mcpStatus)
          .values({ instance, ...set })
          .onConflictDoUpdate({ target: mcpStatus.instance, set });
      }),
    mcpStatus: () =>
      database.query((orm) =>
        orm
          .selectDistinct({ instance: mcpStatus.instance, servers: mcpStatus.servers })
          .from(mcpStatus)
          .innerJoin(node, eq(node.instance, mcpStatus.instance))
          .where(gte(node.leaseUntil, sql`now()`))
          .orderBy(asc(mcpStatus.instance)),
      ),
  };
}
