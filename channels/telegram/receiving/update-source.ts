/** Where the bot's updates come from: polled from Telegram, or posted by it. */
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { StoredUpdate, UpdateStore, WaitingUpdate } from '../../../src/protocol/receive.ts';
import type { BotApi } from '../api/bot-api.ts';
import { updateIdOf } from './updates.ts';

/** How long a request for updates may take, in milliseconds. */
export interface UpdateWait {
  /** How long to wait for the first one. */
  waitMs: number;
  /** When a request without an answer is aborted. */
  stallMs: number;
}

/** Returns updates until they are finished; those of an incomplete message stay open, and are returned again. */
export interface UpdateSource {
  /** The updates that are not finished, of any shape. Throws `GatewayError`. */
  next(wait: UpdateWait, signal: AbortSignal): Promise<unknown[]>;
  /** All of `ids` except the `open` ones are committed or skipped. Throws `GatewayError`. */
  finish(ids: readonly number[], open: ReadonlySet<number>): Promise<void>;
  /** The channel's health after `next` has succeeded. */
  health(): ChannelHealth;
}

/** Updates in one batch, as many as `getUpdates` returns. */
const BATCH = 100;

/** Updates that Telegram posted, in the order of their ids. */
export class PostedUpdates {
  readonly #store: UpdateStore;
  readonly #bot: string;

  /** For the bot with this token, which is secret except for the id at its start. */
  constructor(store: UpdateStore, token: string) {
    this.#store = store;
    this.#bot = `telegram:${token.split(':', 1)[0]}`;
  }

  /** Stores one posted update. Throws `StoreError`. */
  async add(posted: WaitingUpdate): Promise<StoredUpdate> {
    return await this.#store.storeUpdate(this.#bot, posted);
  }

  async next(): Promise<unknown[]> {
    return (await this.#store.waitingUpdates(this.#bot, BATCH)).map(({ update }) => update);
  }

  async finish(ids: readonly number[], open: ReadonlySet<number>): Promise<void> {
    const done = ids.filter((id) => !open.has(id));
    if (done.length > 0) await this.#store.finishUpdates(this.#bot, done);
  }
}

/**
 * `getUpdates`: the offset moves only past finished updates. Updates that a webhook has stored, or still delivers to
 * another node, come first whenever nothing else arrives.
 */
export class PolledUpdates implements UpdateSource {
  readonly #bot: Pick<BotApi, 'updates'>;
  readonly #posted: PostedUpdates;
  #isQuiet = true;
  #fromPosted = false;
  #offset: number | undefined;
  /** Finished updates behind the offset while it waits for further parts of a message; at most one batch. */
  #finished = new Set<number>();

  constructor(bot: Pick<BotApi, 'updates'>, posted: PostedUpdates) {
    this.#bot = bot;
    this.#posted = posted;
  }

  async next(wait: UpdateWait, signal: AbortSignal): Promise<unknown[]> {
    const posted = this.#isQuiet || this.#fromPosted ? await this.#posted.next() : [];
    this.#fromPosted = posted.length > 0;
    if (this.#fromPosted) return posted;
    const updates = await this.#bot.updates({ offset: this.#offset, ...wait }, signal);
    this.#isQuiet = updates.length === 0;
    return updates.filter((update) => !this.#finished.has(updateIdOf(update)));
  }

  async finish(ids: readonly number[], open: ReadonlySet<number>): Promise<void> {
    if (this.#fromPosted) {
      await this.#posted.finish(ids, open);
      return;
    }
    const done = [...this.#finished, ...ids.filter((id) => !open.has(id))];
    const offset =
      open.size > 0 ? Math.min(...open) : Math.max(this.#offset ?? 0, ...ids.map((id) => id + 1));
    this.#finished = new Set(done.filter((id) => id >= offset));
    this.#offset = offset;
  }

  health(): ChannelHealth {
    return { state: 'up' };
  }
}
