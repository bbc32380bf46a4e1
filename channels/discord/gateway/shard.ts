/**
 * Shards: which of a bot's connections receives the events of a server, and the names of the records kept for each.
 * Pure.
 */
import type { Shard } from '../../../src/protocol/channel.ts';

/** The only connection of a bot for which Discord asks for no others. */
export const ONLY: Shard = { id: 0, count: 1 };

/** True if the events of a guild arrive over this shard; those of direct messages arrive over the first. */
export function ownsGuild({ id, count }: Shard, guildId: string | undefined): boolean {
  return id === (guildId === undefined ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count)));
}

/** The name of a shard's session in the store. */
export function sessionKeyOf(botId: string, { id, count }: Shard): string {
  return count === 1 ? `discord:${botId}` : `discord:${botId}:${id}:${count}`;
}

/**
 * The names under which the store counts identifies, one for each group of shards that may start a session at the
 * same time (`shard_id % max_concurrency`), and the name for this shard's group.
 */
export function countersOf(
  botId: string,
  shard: Shard,
  maxConcurrency: number,
): { own: string; all: string[] } {
  const { id, count } = shard;
  // A bot with one connection counts in its session's own record.
  if (count === 1) return { own: sessionKeyOf(botId, shard), all: [sessionKeyOf(botId, shard)] };
  const groups = Math.max(1, Math.min(maxConcurrency, count));
  const nameOf = (group: number): string => `discord:${botId}:identifies:${group}`;
  return { own: nameOf(id % groups), all: Array.from({ length: groups }, (_, group) => nameOf(group)) };
}
