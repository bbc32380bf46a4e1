/** The kinds of channels that a message does not tell: only threads. Those that no event has told of are asked about one by one, and once. */
import { ChannelError } from '../../src/contracts/errors.ts';
import type { Log } from '../../src/contracts/log.ts';
import { backoffMs } from '../../src/lib/async/backoff.ts';
import { sleep } from '../../src/lib/async/sleep.ts';
import { toChannelError } from './errors.ts';
import { readChannel } from './receiving/inbound.ts';
import type { ChannelKind } from './receiving/inbound.ts';
import type { DiscordRest } from './rest/rest.ts';
import { isTransientError } from './rest/retry.ts';

/** Kinds remembered, also of channels where nothing is answered; the one that was asked for longest ago is forgotten. */
export const MAX_KINDS = 5_000;

/** Channels that wait to be asked about; past that, one in which nobody has called the bot is given up. */
export const MAX_LOOKUPS = 200;

/** Longest wait before a question that was not answered is asked again, in milliseconds. */
const RETRY_CAP_MS = 30_000;

/** Where somebody waits the questions follow each other so many times as fast. */
const URGENT_SPEED = 4;

interface Lookup {
  id: string;
  /** Somebody has called the bot there: this one goes first. */
  urgent: boolean;
  result: PromiseWithResolvers<ChannelKind | undefined>;
}

export interface ChannelKindsParts {
  rest: Pick<DiscordRest, 'call'>;
  log: Log;
  signal: AbortSignal;
  /** Between two questions, which share Discord's limit of 50 calls a second, and before one is asked again the first time. */
  waits: { spacingMs: number; retryMs: number };
}

export class ChannelKinds {
  readonly #parts: ChannelKindsParts;
  readonly #known = new Map<string, ChannelKind>();
  readonly #lookups = new Map<string, Lookup>();
  #running = false;

  constructor(parts: ChannelKindsParts) {
    this.#parts = parts;
  }

  /** The kind of a channel; undefined when Discord does not tell it to this bot, or too many others are asked about. Never throws. */
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

  /** An event has told the kind of a channel: nobody waits for the answer about it. */
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
    this.#end(one, undefined);
  }

  #end({ id, result }: Lookup, kind: ChannelKind | undefined): void {
    this.#lookups.delete(id);
    if (kind !== undefined) this.#keep(id, kind);
    result.resolve(kind);
  }

  /** Asks one after another, until nothing waits. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const { signal, waits } = this.#parts;
    try {
      for (;;) {
        const all = [...this.#lookups.values()];
        const next = all.find(({ urgent }) => urgent) ?? all[0];
        if (next === undefined) return;
        this.#end(next, await this.#ask(next.id));
        await sleep(waits.spacingMs / (next.urgent ? URGENT_SPEED : 1), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      for (const lookup of this.#lookups.values()) this.#end(lookup, undefined);
    } finally {
      this.#running = false;
    }
  }

  /** The kind as Discord tells it, asked again until it answers. Throws only the signal's reason. */
  async #ask(id: string): Promise<ChannelKind | undefined> {
    const { rest, log, signal, waits } = this.#parts;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return readChannel(
          await rest.call({ method: 'get', path: `/channels/${id}`, bucket: 'channel', signal }),
        );
      } catch (thrown) {
        signal.throwIfAborted();
        const error = thrown instanceof ChannelError ? thrown : toChannelError(thrown);
        log.warn({ err: error, chatId: id }, 'discord_channel_unreadable');
        if (!isTransientError(error)) return undefined;
        await sleep(
          Math.max(backoffMs(attempt, waits.retryMs, RETRY_CAP_MS), error.retryAfterMs ?? 0),
          signal,
        );
      }
    }
  }
}
