/** Shards: how many connections a bot has, which of them receives the events of a server, and what the store calls them. */
import { ApplicationFlags, Routes, ShardClientUtil } from 'discord.js';
import { z } from 'zod';
import { channelUnavailable } from '../../../src/protocol/errors.ts';
import type { Shard } from '../../../src/protocol/channel.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { DiscordRest } from '../rest.ts';

/** The only connection of a bot for which Discord asks for no others. */
export const ONLY: Shard = { id: 0, count: 1 };

/** Maximum number of connections of one bot: enough for a bot in two million servers. */
export const MAX_SHARDS = 1_000;

/** `session_start_limit` of `GET /gateway/bot`; `reset_after` is in milliseconds. */
const SessionStartLimit = z.object({
  total: z.number(),
  remaining: z.number(),
  reset_after: z.number(),
  /** Shards that may start a session at the same time. */
  max_concurrency: z.number().default(1),
});
export type SessionStartLimit = z.infer<typeof SessionStartLimit>;

const GatewayBot = z.object({
  url: z.url({ protocol: /^wss?$/ }),
  shards: z.int().min(1).max(MAX_SHARDS).catch(1),
  session_start_limit: SessionStartLimit,
});
const Application = z.object({ flags: z.number() });

/** Where sessions start, how many connections Discord asks for, and how many sessions may start. Throws `ChannelError`. */
export async function readGateway(
  rest: DiscordRest,
  signal: AbortSignal,
): Promise<{ url: string; shards: number; limit: SessionStartLimit }> {
  const { data } = GatewayBot.safeParse(await rest.get(Routes.gatewayBot(), 'gateway', signal));
  if (data !== undefined) return { url: data.url, shards: data.shards, limit: data.session_start_limit };
  throw channelUnavailable(textRef('health.no_address', { network: 'Discord' }));
}

/** Whether the bot's Message Content Intent is enabled. Throws `ChannelError`. */
export async function isTextAllowed(rest: DiscordRest, signal: AbortSignal): Promise<boolean> {
  const answer = await rest.get(Routes.currentApplication(), 'application', signal);
  const intentFlags = ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited;
  return ((Application.safeParse(answer).data?.flags ?? 0) & intentFlags) !== 0;
}

/** True if the events of a guild arrive over this shard; those of direct messages arrive over the first. Pure. */
export function ownsGuild({ id, count }: Shard, guildId: string | undefined): boolean {
  return id === (guildId === undefined ? 0 : ShardClientUtil.shardIdForGuildId(guildId, count));
}

/** The store records for a session: the record of the connection, and those that count the bot's identifies. */
export interface BudgetKeys {
  session: string;
  /** The one of these that this connection shares with the connections that may not identify at the same time. */
  group: string;
  all: readonly string[];
}

/** The name of a shard's session in the store. Pure. */
export function sessionKeyOf(botId: string, { id, count }: Shard): string {
  return count === 1 ? `discord:${botId}` : `discord:${botId}:${id}:${count}`;
}

/** Identifies are counted for each group of shards that may start a session at the same time. Pure. */
export function budgetKeysOf(botId: string, shard: Shard, maxConcurrency: number): BudgetKeys {
  const { id, count } = shard;
  const session = sessionKeyOf(botId, shard);
  // A bot with one connection counts in its session's own record.
  if (count === 1) return { session, group: session, all: [session] };
  const groups = Math.max(1, Math.min(maxConcurrency, count));
  const all = Array.from({ length: groups }, (_, group) => `discord:${botId}:identifies:${group}`);
  return { session, group: `discord:${botId}:identifies:${id % groups}`, all };
}
