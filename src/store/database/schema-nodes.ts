/** Small tables of what the nodes of a database share, chose, or say of themselves. */
import { integer, jsonb, pgTable, text } from './drizzle.ts';
import type { NodeStatus } from '../../contracts/operator/nodes.ts';
import type { McpServerStatus } from '../../contracts/mcp/servers.ts';

/** One row, made when NATS is first used: the subject and key by which the nodes of this database know each other there. */
export const fanoutSecret = pgTable('fanout_secret', {
  id: integer('id').primaryKey().default(1),
  subject: text('subject').notNull(),
  /** Base64. */
  key: text('key').notNull(),
});

/** What the gateway has chosen where nobody else did, by name: all nodes, and all starts, choose the same. */
export const choice = pgTable('choice', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** What each home's gateway last said of its MCP servers. */
export const mcpStatus = pgTable('mcp_status', {
  instance: text('instance').primaryKey(),
  servers: jsonb('servers').$type<McpServerStatus[]>().notNull(),
});

/** What each home's gateway last started with: its version, and a digest of every setting, to find those that differ. */
export const nodeSettings = pgTable('node_settings', {
  instance: text('instance').primaryKey(),
  version: text('version').notNull(),
  digests: jsonb('digests').$type<Record<string, string>>().notNull(),
});

/** What each home's gateway last said of itself while it ran: where its page is, which model answers, its channels. */
export const nodeStatus = pgTable('node_status', {
  instance: text('instance').primaryKey(),
  status: jsonb('status').$type<NodeStatus>().notNull(),
});
