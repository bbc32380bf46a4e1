/** Reads Discord's channels: their kinds, and the messages missed while not connected, up to a limit. */
import { z } from 'zod';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { sleep } from '../../../src/lib/async/sleep.ts';
import { ChannelKinds } from '../channel-kinds.ts';
import { type ChannelKind, type RawMessage, readMessage } from './inbound.ts';
import { Snowflake } from './quoted.ts';
import { retryTransient } from '../rest/retry.ts';
import type { DiscordRest, RestCall } from '../rest/rest.ts';

/** Messages per call (Discord's maximum) and calls per gap. */
const PAGE = 100;
const MAX_PAGES = 5;
/** The start of Discord's ids, in epoch milliseconds (2015-01-01). */
const DISCORD_EPOCH = 1_420_070_400_000;

/** Maximum number of posts in one forum that are read after a gap. */
const MAX_POSTS = 100;
const ActiveThreads = z.object({
  threads: z.array(z.object({ id: Snowflake, parent_id: Snowflake.nullish() })),
});

export interface HistoryParts {
  rest: DiscordRest;
  log: Log;
  signal: AbortSignal;
  /** Minimum time between two calls, in milliseconds: sending shares Discord's limit of 50 calls a second. */
  spacingMs: number;
  /** First wait before a request that failed is repeated, in milliseconds. */
  retryMs: number;
  /** Called for each chat of which something was left out: it has more messages, or cannot be read. */
  leftOut: (chatId: string) => void;
}

export class History {
  readonly #parts: HistoryParts;
  readonly #kinds: ChannelKinds;
  /** When the next call may be made, on the monotonic clock. */
  #nextAt = 0;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#kinds = new ChannelKinds({
      ...parts,
      waits: { spacingMs: parts.spacingMs, retryMs: parts.retryMs },
    });
  }

  /**
   * The messages after an id, oldest first, at most 500; if any are left out, logs and reports it. Throws only the
   * signal's reason.
   */
  async *after(chatId: string, id: string): AsyncGenerator<RawMessage> {
    let last = id;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = new URLSearchParams({ limit: String(PAGE), after: last });
      const path = `/channels/${chatId}/messages` as const;
      const answer = await this.#read(chatId, { method: 'get', path, bucket: `history ${chatId}`, query });
      const messages = (Array.isArray(answer) ? answer : [])
        .map(readMessage)
        .filter((message) => message !== undefined)
        .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
      yield* messages;
      last = messages.at(-1)?.id ?? last;
      if (messages.length < PAGE) return;
    }
    this.#parts.log.warn({ chatId, after: last }, 'discord_history_truncated');
    this.#parts.leftOut(chatId);
  }

  /**
   * Whether a channel is a private chat, and which channel a thread belongs to; undefined if that cannot be read.
   * `urgent` requests go before those that no one is waiting for.
   */
  async kindOf(chatId: string, urgent: boolean): Promise<ChannelKind | undefined> {
    return await this.#kinds.of(chatId, urgent);
  }

  /** An event has described threads, by id. */
  tellThreads(threads: ReadonlyMap<string, ChannelKind>): void {
    for (const [id, kind] of threads) this.#kinds.tell(id, kind);
  }

  /**
   * The posts of a forum that were opened after an id, and are not archived: at most 100. A forum itself contains no
   * messages. Throws only the signal's reason.
   */
  async posts(forumId: string, guildId: string, after: string): Promise<string[]> {
    const path = `/guilds/${guildId}/threads/active` as const;
    const answer = await this.#read(forumId, { method: 'get', path, bucket: `posts ${guildId}` });
    const posts = (ActiveThreads.safeParse(answer).data?.threads ?? [])
      .filter(({ id, parent_id: parentId }) => parentId === forumId && BigInt(id) > BigInt(after))
      .map(({ id }) => id);
    if (posts.length > MAX_POSTS) this.#parts.leftOut(forumId);
    return posts.slice(0, MAX_POSTS);
  }

  /** The answer; undefined after a failure, which is logged. */
  async #read(chatId: string, call: RestCall): Promise<unknown> {
    const { rest, log, signal, leftOut } = this.#parts;
    try {
      return await retryTransient(async () => {
        await this.#turn();
        return await rest.call({ ...call, signal });
      }, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error, chatId }, 'discord_channel_unreadable');
      // Where the bot can no longer see anything, no one is waiting for its answer.
      if (!(error instanceof ChannelError && error.code === 'blocked')) leftOut(chatId);
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

/** The smallest id that Discord can have assigned at a time. */
export function idAt(epochMs: number): string {
  return (BigInt(Math.max(0, Math.floor(epochMs) - DISCORD_EPOCH)) << 22n).toString();
}
