/** Finds the channels in which messages were missed while no session was kept, and has them read. */
import type { Shard } from '../../../src/protocol/channel.ts';
import type { ConnectionStore } from '../../../src/protocol/receive.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { parseAddress } from '../../../src/protocol/message.ts';
import { ownsGuild } from '../gateway/shard.ts';
import { type History, idAt } from './history.ts';
import type { Inbox } from './inbox.ts';

/** Chats whose session changed within this time are read, no matter how long ago messages were missed in them. */
const HEARD_WITHIN_MS = 30 * 24 * 3_600_000;
/**
 * Maximum number of chats read after one outage: allowed channels, and the most recently used ones. At ten a second
 * this takes 100 s.
 */
export const MAX_CHATS_READ = 1_000;
/** Chats read in parallel: their missed messages wait in memory, and look up the kind of their channel. */
const READERS = 20;
/** Older messages are not answered: after seven days the gateway forgets which ones it has answered. */
const MAX_AGE_MS = 6 * 24 * 3_600_000;
/**
 * Reading starts this long before the time up to which everything was received: the clocks of Discord and this
 * machine differ.
 */
const LOOK_BACK_MS = 5 * 60_000;

export interface CatchUpParts {
  connections: Pick<ConnectionStore, 'heardChats'>;
  gateway: Pick<GatewayApi, 'groups'>;
  inbox: Pick<Inbox, 'heard' | 'read'>;
  history: Pick<History, 'kindOf' | 'posts'>;
  log: Log;
  epochNow: () => number;
  /** Only the chats whose events arrive over it are read. */
  shard: Shard;
  signal: AbortSignal;
}

/**
 * Reads everything said since `heardAt` in the channel's chats, whether used or only allowed; resolves once it is
 * stored, with the number of chats beyond the limit. Without `heardAt` (an earlier version kept none) each chat is
 * read from its session's last change. Throws `StoreError`.
 */
export async function catchUp(parts: CatchUpParts, heardAt: number | undefined): Promise<number> {
  const { connections, gateway, inbox, log, epochNow, signal } = parts;
  const range = { since: epochNow() - HEARD_WITHIN_MS, limit: MAX_CHATS_READ };
  const [{ chats, total }, groups] = await Promise.all([
    connections.heardChats('discord', range),
    heardAt === undefined ? [] : gateway.groups('discord'),
  ]);
  const from = (at: number): string => idAt(Math.max(at - LOOK_BACK_MS, epochNow() - MAX_AGE_MS));
  const places = new Map<string, string>();
  const after = from(heardAt ?? 0);
  for (const id of inbox.heard.toReversed()) places.set(id, after);
  for (const group of groups) for (const id of await readable(parts, group, after)) places.set(id, after);
  for (const { address, changedAt } of chats) {
    const { chatId, threadId } = parseAddress(address);
    places.set(threadId ?? chatId, from(heardAt ?? changedAt));
  }
  const read = [...places].slice(0, MAX_CHATS_READ);
  const leftOut = total - chats.length + places.size - read.length;
  log.info({ chats: read.length, leftOut, heardAt }, 'discord_catch_up');
  const next = read.values();
  const reader = async (): Promise<void> => {
    for (const [id, after] of next) {
      if (signal.aborted) return;
      if (await isOwn(parts, id)) await inbox.read(id, after);
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return leftOut;
}

/** If Discord does not answer, the chat is read: a message that arrives twice is accepted once. */
async function isOwn({ history, shard }: CatchUpParts, id: string): Promise<boolean> {
  if (shard.count === 1) return true;
  const kind = await history.kindOf(id, false);
  return kind === undefined || ownsGuild(shard, kind.guildId);
}

/** What there is to read in an allowed channel: the new posts of a forum, otherwise the channel itself. */
async function readable({ history }: CatchUpParts, id: string, after: string): Promise<string[]> {
  const kind = await history.kindOf(id, false);
  if (kind?.isForum !== true || kind.guildId === undefined) return [id];
  return await history.posts(id, kind.guildId, after);
}
