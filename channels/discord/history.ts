/** Reads Discord's channels: what kind they are, and the messages missed while not connected, up to a bound. */
import type { Log } from '../../src/contracts/log.ts';
import { readChannel, readMessage } from './inbound.ts';
import type { ChannelKind, RawMessage } from './inbound.ts';
import { retryTransient } from './retry.ts';
import type { DiscordRest, RestCall } from './rest.ts';

/** Messages per call (Discord's maximum) and calls per gap. */
const PAGE = 100;
const MAX_PAGES = 5;
/** Milliseconds at which Discord's ids begin (2015-01-01). */
const DISCORD_EPOCH = 1_420_070_400_000;

export class History {
  readonly #rest: DiscordRest;
  readonly #log: Log;
  readonly #signal: AbortSignal;

  constructor(parts: { rest: DiscordRest; log: Log; signal: AbortSignal }) {
    this.#rest = parts.rest;
    this.#log = parts.log;
    this.#signal = parts.signal;
  }

  /** The messages after an id, oldest first, at most 500; leaving any out is logged. Throws only the signal's reason. */
  async *after(chatId: string, id: string): AsyncGenerator<RawMessage> {
    let last = id;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = new URLSearchParams({ limit: String(PAGE), after: last });
      const answer = await this.#read(chatId, {
        method: 'get',
        path: `/channels/${chatId}/messages`,
        bucket: `history ${chatId}`,
        query,
      });
      const messages = (Array.isArray(answer) ? answer : [])
        .map(readMessage)
        .filter((message) => message !== undefined)
        .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
      yield* messages;
      last = messages.at(-1)?.id ?? last;
      if (messages.length < PAGE) return;
    }
    this.#log.warn({ chatId, after: last }, 'discord_history_truncated');
  }

  /** Whether a channel is a private chat, and which channel a thread belongs to; undefined when it cannot be read. */
  async kindOf(chatId: string): Promise<ChannelKind | undefined> {
    const call = { method: 'get', path: `/channels/${chatId}`, bucket: 'channel' } as const;
    return readChannel(await this.#read(chatId, call));
  }

  /** The answer; undefined after a failure, which is logged. */
  async #read(chatId: string, call: RestCall): Promise<unknown> {
    try {
      return await retryTransient(
        async () => await this.#rest.call({ ...call, signal: this.#signal }),
        this.#signal,
      );
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#log.warn({ err: error, chatId }, 'discord_channel_unreadable');
      return undefined;
    }
  }
}

/** The smallest id that Discord can have assigned at a time. */
export function idAt(epochMs: number): string {
  return (BigInt(Math.max(0, Math.floor(epochMs) - DISCORD_EPOCH)) << 22n).toString();
}
