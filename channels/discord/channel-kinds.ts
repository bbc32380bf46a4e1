/**
 * The kinds of channels that a message does not reveal, which are only threads. Discord is asked once, and one at a
 * time, about those that no event has described.
 */
import type { Log } from '../../src/protocol/log.ts';
import { backoffMs } from '../../src/lib/async/backoff.ts';
import { sleep } from '../../src/lib/async/sleep.ts';
import { toChannelError } from './errors.ts';
import { type ChannelKind, readChannel } from './receiving/inbound.ts';
import type { DiscordRest } from './rest/rest.ts';
import { isTransientError } from './rest/retry.ts';

/**
 * Maximum number of kinds remembered, including channels where nothing is answered; the one requested longest ago is
 * forgotten.
 */
export const MAX_KINDS = 5_000;

/**
 * Maximum number of channels waiting for a lookup; beyond it, a channel in which no one has called the bot is
 * dropped.
 */
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

export interface ChannelKindsParts {
  rest: Pick<DiscordRest, 'call'>;
  log: Log;
  signal: AbortSignal;
  /** Waits between two lookups, which share Discord's limit of 50 calls a second, and before the first retry of one. */
  waits: { spacingMs: number; retryMs: number };
  /** Called for a channel where someone has called the bot and is not answered. */
  leftOut: (chatId: string) => void;
}

export class ChannelKinds {
  readonly #parts: ChannelKindsParts;
  readonly #known = new Map<string, ChannelKind>();
  readonly #lookups = new Map<string, Lookup>();
  #running = false;

  constructor(parts: ChannelKindsParts) {
    this.#parts = parts;
  }

  /** The kind of a channel; undefined if Discord does not tell this bot, or too many others are waiting. Never throws. */
  async of(id: string, urgent: boolean): Promise<ChannelKind | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) {
      this.#keep(id, known);
      return known;
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
    if (lookup === undefined) this.#keep(id, kind);
    else this.#end(lookup, kind);
  }

  #keep(id: string, kind: ChannelKind): void {
    this.#known.delete(id);
    this.#known.set(id, kind);
    const oldest = this.#known.keys().next();
    if (this.#known.size > MAX_KINDS && oldest.done !== true) this.#known.delete(oldest.value);
  }

  #giveUpOne(): void {
    if (this.#lookups.size <= MAX_LOOKUPS) return;
    const all = [...this.#lookups.values()];
    const one = all.find(({ urgent }) => !urgent) ?? all[0];
    if (one === undefined) return;
    this.#parts.log.warn({ chatId: one.id, waiting: MAX_LOOKUPS }, 'discord_unknown_thread_skipped');
    if (one.urgent) this.#parts.leftOut(one.id);
    this.#end(one, undefined);
  }

  #end({ id, result }: Lookup, kind: ChannelKind | undefined): void {
    this.#lookups.delete(id);
    if (kind !== undefined) this.#keep(id, kind);
    result.resolve(kind);
  }

  /** Makes one lookup after another until none is waiting. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const { signal, waits } = this.#parts;
    try {
      for (;;) {
        const all = [...this.#lookups.values()];
        const next = all.find(({ urgent }) => urgent) ?? all[0];
        if (next === undefined) return;
        this.#end(next, await this.#ask(next));
        await sleep(waits.spacingMs / (next.urgent ? URGENT_SPEED : 1), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      for (const lookup of this.#lookups.values()) this.#end(lookup, undefined);
    } finally {
      this.#running = false;
    }
  }

  /** The kind that Discord reports, retried until Discord answers. Throws only the signal's reason. */
  async #ask(lookup: Lookup): Promise<ChannelKind | undefined> {
    const { rest, log, signal, waits, leftOut } = this.#parts;
    const { id } = lookup;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return readChannel(
          await rest.call({ method: 'get', path: `/channels/${id}`, bucket: 'channel', signal }),
        );
      } catch (thrown) {
        signal.throwIfAborted();
        const error = toChannelError(thrown);
        log.warn({ err: error, chatId: id }, 'discord_channel_unreadable');
        if (!isTransientError(error)) {
          if (lookup.urgent) leftOut(id);
          return undefined;
        }
        await sleep(
          Math.max(backoffMs(attempt, waits.retryMs, RETRY_CAP_MS), error.retryAfterMs ?? 0),
          signal,
        );
      }
    }
  }
}
