/** Small tables of what the nodes of a database share, have chosen, or report about themselves. */
import { bigint, bytea, index, integer, jsonb, moment, pgTable, primaryKey, sql, text } from './drizzle.ts';
import type { NodeStatus } from '../../protocol/operator/nodes.ts';
import type { ToolSchema } from '../../protocol/agent/provider.ts';
import type { McpServerStatus } from '../../protocol/agent/tool.ts';
import type { TraceAttempt } from '../../protocol/store/traces.ts';

/** One row, created when NATS is first used: the subject and key by which the nodes of this database know each other. */
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

/** Each running gateway's last report: the address of its page, its model, its channels. */
export const nodeStatus = pgTable('node_status', {
  instance: text('instance').primaryKey(),
  status: jsonb('status').$type<NodeStatus>().notNull(),
});

/** Updates that a platform posted to a webhook. */
export const platformUpdate = pgTable(
  'platform_update',
  {
    /** `telegram:<id of the bot>`. */
    bot: text('bot').notNull(),
    id: bigint('id', { mode: 'number' }).notNull(),
    /** JSON as it was posted, which may contain what `jsonb` refuses; null once it was received. */
    body: text('body'),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.bot, t.id] }),
    index('platform_update_waiting')
      .on(t.bot, t.id)
      .where(sql`body is not null`),
    index('platform_update_received')
      .on(t.bot, t.at)
      .where(sql`body is null`),
  ],
);

/** Settings of individual chats, such as how their answers are streamed. */
export const chatSetting = pgTable(
  'chat_setting',
  {
    /** Address of the chat, usually without a topic. */
    chat: text('chat').notNull(),
    name: text('name').notNull(),
    value: text('value').notNull(),
    /** No longer valid after this time. */
    until: moment('until'),
  },
  (t) => [primaryKey({ columns: [t.chat, t.name] })],
);

/** Devices of bots that encrypt. The version rises with each change, so that a node notices another's. */
export const keyStore = pgTable('key_store', {
  /** `matrix:@parley:example.org DEVICE`. */
  device: text('device').primaryKey(),
  version: bigint('version', { mode: 'number' }).notNull(),
});

/** Their keys, each sealed with a secret that is not in the database. */
export const keyRecord = pgTable(
  'key_record',
  {
    device: text('device').notNull(),
    key: text('key').notNull(),
    value: bytea('value').notNull(),
  },
  (t) => [primaryKey({ columns: [t.device, t.key] })],
);

/** What a turn did and when, one element per attempt. */
export const turnTrace = pgTable(
  'turn_trace',
  {
    turnId: text('turn_id').primaryKey(),
    attempts: jsonb('attempts').$type<TraceAttempt[]>().notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [index('turn_trace_at').on(t.at)],
);

/** Definitions of tools that prompts of traces refer to, each list once; `used_at` is at most a day late. */
export const toolList = pgTable(
  'tool_list',
  {
    key: text('key').primaryKey(),
    tools: jsonb('tools').$type<ToolSchema[]>().notNull(),
    usedAt: moment('used_at').notNull().defaultNow(),
  },
  (t) => [index('tool_list_used').on(t.usedAt)],
);

/** Counts of messages that did not become turns. */
export const refusal = pgTable(
  'refusal',
  {
    address: text('address').notNull(),
    senderId: text('sender_id').notNull(),
    code: text('code').notNull(),
    detail: text('detail').notNull(),
    count: integer('count').notNull(),
    lastAt: moment('last_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.address, t.senderId, t.code] }), index('refusal_at').on(t.lastAt)],
);
