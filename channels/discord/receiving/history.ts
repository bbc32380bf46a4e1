/** Reads Discord's channels: their kinds, and the messages missed while not connected, up to a limit. */
import { Routes, SnowflakeUtil } from 'discord.js';
import { z } from 'zod';
import { HEARD_WITHIN_MS, MAX_MISSED_AGE_MS } from '../../../src/protocol/channel-parts.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { parseAddress } from '../../../src/protocol/message.ts';
import type { Shard } from '../../../src/protocol/channel.ts';
import type { ConnectionStore } from '../../../src/protocol/receive.ts';
import { sleep } from '../../../src/lib/async/sleep.ts';
import { ownsGuild } from '../gateway/shard.ts';
import { retryTransient } from '../rest.ts';
import type { ChannelKinds, ReaderParts } from './channel-kinds.ts';
import { type RawMessage, readMessages } from './inbound.ts';
import { listMessages } from './messages.ts';
import { Snowflake } from './message-parts.ts';

/** Messages per call (Discord's maximum) and calls per gap. */
const PAGE = 100;
const MAX_PAGES = 5;
/** Maximum number of posts in one forum that are read after a gap. */
const MAX_POSTS = 100;
const ActiveThreads = z.object({
  threads: z.array(z.object({ id: Snowflake, parent_id: Snowflake.nullish() })),
});

export class History {
  readonly #parts: ReaderParts;
  /** When the next call may be made, on the monotonic clock. */
  #nextAt = 0;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /** The messages after an id, oldest first, at most 500; more are logged and reported. Throws only the signal's reason. */
  async *after(chatId: string, id: string): AsyncGenerator<RawMessage> {
    let last = id;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { rest, signal } = this.#parts;
      const range = { limit: PAGE, after: last };
      const list = () => listMessages(rest, chatId, range, { bucket: `history ${chatId}`, signal });
      const messages = readMessages(await this.#read(chatId, list));
      yield* messages;
      last = messages.at(-1)?.id ?? last;
      if (messages.length < PAGE) return;
    }
    this.#parts.log.warn({ chatId, after: last }, 'discord_history_truncated');
    this.#parts.onLeftOut(chatId);
  }

  /** At most 100 open posts of a forum, which has no messages itself, from after an id. Throws only the signal's reason. */
  async posts(forumId: string, guildId: string, afterId: string): Promise<string[]> {
    const { rest, signal } = this.#parts;
    const path = Routes.guildActiveThreads(guildId);
    const answer = await this.#read(forumId, () => rest.get(path, `posts ${guildId}`, signal));
    const posts = (ActiveThreads.safeParse(answer).data?.threads ?? [])
      .filter(({ id, parent_id: parentId }) => parentId === forumId && BigInt(id) > BigInt(afterId))
      .map(({ id }) => id);
    if (posts.length > MAX_POSTS) this.#parts.onLeftOut(forumId);
    return posts.slice(0, MAX_POSTS);
  }

  /** The answer; undefined after a failure, which is logged. */
  async #read(chatId: string, call: () => Promise<unknown>): Promise<unknown> {
    const { log, signal, onLeftOut } = this.#parts;
    try {
      return await retryTransient(async () => {
        await this.#turn();
        return await call();
      }, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error, chatId }, 'discord_channel_unreadable');
      // Where the bot can no longer see anything, no one is waiting for its answer.
      if (!(error instanceof ChannelError && error.code === 'blocked')) onLeftOut(chatId);
      return undefined;
    }
  }

  /** Waits until this call may be made. Throws the signal's reason. */
  async #turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#parts.spacingMs;
    if (at > now) await sleep(at - now, this.#parts.signal);
  }
}

/** Maximum number of chats read after one outage, most recently used first. At ten a second this takes 100 s. */
export const MAX_CHATS_READ = 1_000;
/** Chats read in parallel: their missed messages wait in memory, and look up the kind of their channel. */
const READERS = 20;
/** Reading starts this long before the last event received: the clocks of Discord and this machine differ. */
const LOOK_BACK_MS = 5 * 60_000;

interface CatchUpParts {
  connections: ConnectionStore;
  /** Ids of the channels that were allowed individually. */
  groups: () => Promise<readonly string[]>;
  /** The chats in which this process has committed a message, the most recently active one last. */
  heard: () => readonly string[];
  /** Has a chat read from after an id; resolves once that is stored. */
  read: (id: string, afterId: string) => Promise<void>;
  history: History;
  kinds: ChannelKinds;
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
  const { connections, heard, log, epochNow, signal } = parts;
  const range = { since: epochNow() - HEARD_WITHIN_MS, limit: MAX_CHATS_READ };
  const [{ chats, total }, groups] = await Promise.all([
    connections.heardChats('discord', range),
    heardAt === undefined ? [] : parts.groups(),
  ]);
  const idFrom = (at: number): string => idAt(Math.max(at - LOOK_BACK_MS, epochNow() - MAX_MISSED_AGE_MS));
  const starts = new Map<string, string>();
  const start = idFrom(heardAt ?? 0);
  for (const id of heard().toReversed()) starts.set(id, start);
  for (const group of groups) for (const id of await readable(parts, group, start)) starts.set(id, start);
  for (const { address, changedAt } of chats) {
    const { chatId, threadId } = parseAddress(address);
    starts.set(threadId ?? chatId, idFrom(heardAt ?? changedAt));
  }
  const selected = [...starts].slice(0, MAX_CHATS_READ);
  const leftOut = total - chats.length + starts.size - selected.length;
  log.info({ chats: selected.length, leftOut, heardAt }, 'discord_catch_up');
  const remaining = selected.values();
  const reader = async (): Promise<void> => {
    for (const [id, from] of remaining) {
      if (signal.aborted) return;
      if (await isOwn(parts, id)) await parts.read(id, from);
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return leftOut;
}

/** If Discord does not answer, the chat is read: a message that arrives twice is accepted once. */
async function isOwn({ kinds, shard }: CatchUpParts, id: string): Promise<boolean> {
  if (shard.count === 1) return true;
  const kind = await kinds.of(id, false);
  return kind === undefined || ownsGuild(shard, kind.guildId);
}

/** What there is to read in an allowed channel: the new posts of a forum, otherwise the channel itself. */
async function readable({ history, kinds }: CatchUpParts, id: string, afterId: string): Promise<string[]> {
  const kind = await kinds.of(id, false);
  if (kind?.isForum !== true || kind.guildId === undefined) return [id];
  return await history.posts(id, kind.guildId, afterId);
}

/** The smallest id that Discord can have assigned at a time. */
function idAt(epochMs: number): string {
  const sinceEpoch = Math.max(0, Math.floor(epochMs) - Number(SnowflakeUtil.epoch));
  return (BigInt(sinceEpoch) << 22n).toString();
}
