/** The kinds of channels that neither a message nor an event has revealed: Discord is asked once, about one at a time. */
import { Routes } from 'discord.js';
import type { Log } from '../../../src/protocol/log.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { sleep } from '../../../src/lib/async/sleep.ts';
import { TtlCache } from '../../../src/lib/ttl-cache.ts';
import { toChannelError } from '../errors.ts';
import { type ChannelKind, readChannel } from './inbound.ts';
import { type DiscordRest, isTransientError } from '../rest.ts';

/** Kinds that are remembered, including those of channels where nothing is answered. */
export const MAX_KINDS = 5_000;

/** Maximum number of channels waiting for a lookup; beyond it, a channel in which no one has called the bot is dropped. */
export const MAX_LOOKUPS = 200;

/** Longest wait before a request that failed is repeated, in milliseconds. */
const RETRY_CAP_MS = 30_000;

/** While someone is waiting, lookups follow each other this many times as fast. */
const URGENT_SPEED = 4;

interface Lookup {
  id: string;
  /** Someone has called the bot there: this one goes first. */
  urgent: boolean;
  result: PromiseWithResolvers<ChannelKind | undefined>;
}

export interface ReaderParts {
  rest: DiscordRest;
  log: Log;
  signal: AbortSignal;
  /** Between two calls, in milliseconds; they share Discord's limit of 50 a second. */
  spacingMs: number;
  /** Before the first retry of a call, in milliseconds. */
  retryMs: number;
  /** Called for each chat of which something was left out: it cannot be read, or has too many messages. */
  onLeftOut: (chatId: string) => void;
}

export class ChannelKinds {
  readonly #parts: ReaderParts;
  readonly #kinds = new TtlCache<ChannelKind>(Number.POSITIVE_INFINITY, MAX_KINDS, () => 0);
  readonly #lookups = new Map<string, Lookup>();
  #running = false;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /** The kind of a channel; undefined if Discord does not tell this bot, or too many others are waiting. Never throws. */
  async of(id: string, urgent: boolean): Promise<ChannelKind | undefined> {
    const cached = this.#kinds.get(id);
    if (cached !== undefined) {
      this.#kinds.set(id, cached);
      return cached;
    }
    const lookup = this.#lookups.get(id) ?? { id, urgent, result: Promise.withResolvers() };
    lookup.urgent ||= urgent;
    this.#lookups.set(id, lookup);
    this.#giveUpOne();
    void this.#run();
    return await lookup.result.promise;
  }

  /** An event has revealed the kind of a channel: no one needs to wait for a lookup. */
  tell(id: string, kind: ChannelKind): void {
    const lookup = this.#lookups.get(id);
    if (lookup === undefined) this.#kinds.set(id, kind);
    else this.#end(lookup, kind);
  }

  #giveUpOne(): void {
    if (this.#lookups.size <= MAX_LOOKUPS) return;
    const all = [...this.#lookups.values()];
    const one = all.find(({ urgent }) => !urgent) ?? all[0];
    if (one === undefined) return;
    this.#parts.log.warn({ chatId: one.id, waiting: MAX_LOOKUPS }, 'discord_unknown_thread_skipped');
    if (one.urgent) this.#parts.onLeftOut(one.id);
    this.#end(one, undefined);
  }

  #end({ id, result }: Lookup, kind: ChannelKind | undefined): void {
    this.#lookups.delete(id);
    if (kind !== undefined) this.#kinds.set(id, kind);
    result.resolve(kind);
  }

  /** Makes one lookup after another until none is waiting. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const { signal, spacingMs } = this.#parts;
    try {
      for (;;) {
        const all = [...this.#lookups.values()];
        const next = all.find(({ urgent }) => urgent) ?? all[0];
        if (next === undefined) return;
        this.#end(next, await this.#read(next));
        await sleep(spacingMs / (next.urgent ? URGENT_SPEED : 1), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      for (const lookup of this.#lookups.values()) this.#end(lookup, undefined);
    } finally {
      this.#running = false;
    }
  }

  /** The kind that Discord reports, retried until Discord answers. Throws only the signal's reason. */
  async #read(lookup: Lookup): Promise<ChannelKind | undefined> {
    const { rest, log, signal, retryMs, onLeftOut } = this.#parts;
    const { id } = lookup;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return readChannel(await rest.get(Routes.channel(id), 'channel', signal));
      } catch (failure) {
        signal.throwIfAborted();
        const error = toChannelError(failure);
        log.warn({ err: error, chatId: id }, 'discord_channel_unreadable');
        if (!isTransientError(error)) {
          if (lookup.urgent) onLeftOut(id);
          return undefined;
        }
        const wait = backoffMs(attempt, retryMs, RETRY_CAP_MS);
        await sleep(Math.max(wait, error.retryAfterMs ?? 0), signal);
      }
    }
  }
}
