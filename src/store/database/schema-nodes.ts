/** Small tables of what the nodes of a database share, have chosen, or report about themselves. */
import { integer, jsonb, pgTable, text } from './drizzle.ts';
import type { NodeStatus } from '../../protocol/operator/nodes.ts';
import type { McpServerStatus } from '../../protocol/agent/tool.ts';

/**
 * One row, created when NATS is first used: the subject and key with which the nodes of this database recognize each
 * other there.
 */
export const fanoutSecret = pgTable('fanout_secret', {
  id: integer('id').primaryKey().default(1),
  subject: text('subject').notNull(),
  /** Base64. */
  key: text('key').notNull(),
});

/** What the gateway has chosen where no one else did, by name: all nodes, and all starts, choose the same. */
export const choice = pgTable('choice', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** Each home's last report on its MCP servers. */
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

/**
 * Each gateway's last report about itself while it ran: the address of its page, the model that answers, its
 * channels.
 */
export const nodeStatus = pgTable('node_status', {
  instance: text('instance').primaryKey(),
  status: jsonb('status').$type<NodeStatus>().notNull(),
});
