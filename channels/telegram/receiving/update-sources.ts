/** Where updates come from: polled, or posted to any node, which stores them for the node with the bot's lane. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type {
  PlatformWebhook,
  StoredUpdate,
  UpdateStore,
  WaitingUpdate,
} from '../../../src/protocol/receive.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import type { BotApi } from '../bot-api.ts';
import { textRef, type TextRef } from '../../../src/protocol/texts/say.ts';
import { stripEnd } from '../../../src/lib/text.ts';

/** Returns updates until they are finished; those of an incomplete message stay open, and are returned again. */
export interface UpdateSource {
  /** The unfinished updates. Waits `waitMs` for the first; aborts an unanswered request after `stallMs`. Throws `GatewayError`. */
  next(waitMs: number, stallMs: number, signal: AbortSignal): Promise<unknown[]>;
  /** All of `ids` except the `open` ones are committed or skipped. Throws `GatewayError`. */
  finish(ids: readonly number[], open: ReadonlySet<number>): Promise<void>;
  /** The channel's health after `next` has succeeded. */
  health(): ChannelHealth;
}

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
    const finishedIds = ids.filter((id) => !open.has(id));
    if (finishedIds.length > 0) await this.#store.finishUpdates(this.#bot, finishedIds);
  }
}

/** `getUpdates`: the offset passes only finished updates. Updates stored for a webhook come first when it is quiet. */
export class PolledUpdates implements UpdateSource {
  readonly #bot: BotApi;
  readonly #posted: PostedUpdates;
  #isQuiet = true;
  #fromPosted = false;
  #offset: number | undefined;
  /** Finished updates behind the offset while it waits for further parts of a message; at most one batch. */
  #finished = new Set<number>();

  constructor(bot: BotApi, posted: PostedUpdates) {
    this.#bot = bot;
    this.#posted = posted;
  }

  async next(waitMs: number, stallMs: number, signal: AbortSignal): Promise<unknown[]> {
    const posted = this.#isQuiet || this.#fromPosted ? await this.#posted.next() : [];
    this.#fromPosted = posted.length > 0;
    if (this.#fromPosted) return posted;
    const updates = await this.#bot.updates(this.#offset, waitMs, stallMs, signal);
    this.#isQuiet = updates.length === 0;
    return updates.filter((update) => !this.#finished.has(updateIdOf(update)));
  }

  async finish(ids: readonly number[], open: ReadonlySet<number>): Promise<void> {
    if (this.#fromPosted) {
      await this.#posted.finish(ids, open);
      return;
    }
    const finishedIds = [...this.#finished, ...ids.filter((id) => !open.has(id))];
    const offset =
      open.size > 0 ? Math.min(...open) : Math.max(this.#offset ?? 0, ...ids.map((id) => id + 1));
    this.#finished = new Set(finishedIds.filter((id) => id >= offset));
    this.#offset = offset;
  }

  health(): ChannelHealth {
    return { state: 'up' };
  }
}

/** The path below the gateway's public address (see docs/http-api.md). */
const WEBHOOK_PATH = '/v1/updates/telegram';
/** An error that Telegram reported longer ago than this counts as solved. */
const ERROR_MS = 300_000;

/** The parts of `getWebhookInfo` that matter to operators. */
export interface WebhookInfo {
  url?: string | undefined;
  pending_update_count?: number | undefined;
  /** Seconds since 1970. */
  last_error_date?: number | undefined;
  last_error_message?: string | undefined;
}

/** How often the node looks for updates that another node stored; it receives its own at once. */
const LOOK_MS = 250;
/** How often the node asks Telegram whether its posts arrive. */
const CHECK_MS = 60_000;

/** The channel's webhook settings. */
export interface WebhookConfig {
  url: string;
  /** Secret. Telegram sends it with each post; derived from the bot token by default, so that all nodes know it. */
  secret?: string | undefined;
}

/** The webhook's secret (Bot API `secret_token`, 1-256 of A-Z, a-z, 0-9, _ and -), which does not reveal the token. */
function secretOf(token: string, { secret }: WebhookConfig): string {
  return secret ?? createHmac('sha256', token).update('parley webhook of telegram').digest('base64url');
}

const update = z.looseObject({ update_id: z.int().min(0) });

/** The webhook of one bot: its route on every node, and the source of updates on the node that receives. */
export class TelegramWebhook implements PlatformWebhook {
  readonly #url: string;
  readonly #secret: string;
  readonly #bot: BotApi;
  readonly #posted: PostedUpdates;
  readonly #log: Log;
  readonly #clock: Clock;
  /** Waiters for the next update; at most the one receiver. */
  readonly #arrivals = new Set<() => void>();

  /** `token` is secret. */
  constructor(
    token: string,
    config: WebhookConfig,
    bot: BotApi,
    posted: PostedUpdates,
    log: Log,
    clock: Clock,
  ) {
    this.#url = webhookAddress(config.url);
    this.#secret = secretOf(token, config);
    this.#bot = bot;
    this.#posted = posted;
    this.#log = log;
    this.#clock = clock;
  }

  isGenuine(headers: Parameters<PlatformWebhook['isGenuine']>[0]): boolean {
    const secret = headers['x-telegram-bot-api-secret-token'];
    if (typeof secret !== 'string') return false;
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    return timingSafeEqual(digest(secret), digest(this.#secret));
  }

  async takeUpdate(body: unknown): Promise<StoredUpdate | 'invalid'> {
    const { data } = update.safeParse(body);
    if (data === undefined) return 'invalid';
    const result = await this.#posted.add({ id: data.update_id, update: body });
    if (result === 'stored') for (const arrive of this.#arrivals) arrive();
    return result;
  }

  /** The updates that were posted to any node, once Telegram knows the address. */
  source(): UpdateSource {
    let health: ChannelHealth = { state: 'up' };
    let checkedAt: number | undefined;
    const check = async (signal: AbortSignal): Promise<void> => {
      const now = this.#clock.monotonicMs();
      if (checkedAt !== undefined && now - checkedAt < CHECK_MS) return;
      health = await this.#check(checkedAt === undefined);
      signal.throwIfAborted();
      checkedAt = now;
    };
    return {
      next: async (waitMs, _stallMs, signal) => {
        await check(signal);
        const until = this.#clock.monotonicMs() + waitMs;
        for (;;) {
          // Starts to listen before the store is read: an update that arrives during the read does not have to wait.
          const arrival = this.#arrival(signal);
          const updates = await this.#posted.next();
          if (updates.length > 0 || this.#clock.monotonicMs() >= until) {
            arrival.forget();
            return updates;
          }
          await arrival.wait;
          signal.throwIfAborted();
        }
      },
      finish: (ids, open) => this.#posted.finish(ids, open),
      health: () => health,
    };
  }

  #arrival(signal: AbortSignal): { wait: Promise<void>; forget: () => void } {
    const over = new AbortController();
    const forget = (): void => over.abort();
    this.#arrivals.add(forget);
    const wait = pause(LOOK_MS, AbortSignal.any([signal, over.signal]));
    return { wait: wait.finally(() => this.#arrivals.delete(forget)), forget };
  }

  /** Sets the webhook if it is not as it should be, and always if `isFirst`: the secret may be a new one. */
  async #check(isFirst: boolean): Promise<ChannelHealth> {
    const info = await this.#bot.call('getWebhookInfo', (api, limit) => api.getWebhookInfo(limit));
    if (isFirst || info.url !== this.#url) {
      if (!isFirst) this.#log.warn('telegram_webhook_replaced');
      const options = {
        // Updates that are waiting at Telegram are kept.
        drop_pending_updates: false,
        allowed_updates: this.#bot.wantedUpdates,
        secret_token: this.#secret,
      };
      await this.#bot.call('setWebhook', (api, limit) => api.setWebhook(this.#url, options, limit));
      this.#log.info({ waiting: info.pending_update_count }, 'telegram_webhook_set');
    }
    const detail = webhookTrouble(info, this.#clock.epochMs());
    return {
      state: detail === undefined ? 'up' : 'degraded',
      detail,
      waiting: info.pending_update_count ?? 0,
    };
  }
}

/** The full address that Telegram posts to. */
export function webhookAddress(url: string): string {
  const base = stripEnd(url, '/');
  return base.endsWith(WEBHOOK_PATH) ? base : base + WEBHOOK_PATH;
}

/** The error of the last post, in words, while it lasts; undefined when posts arrive. */
export function webhookTrouble(info: WebhookInfo, nowMs: number): TextRef | undefined {
  const { pending_update_count: pending = 0, last_error_date: seconds } = info;
  if (seconds === undefined || nowMs - seconds * 1_000 > ERROR_MS || pending === 0) return undefined;
  const reason = (info.last_error_message ?? 'no reason').slice(0, 300);
  const setting = 'channels.telegram.webhook.url';
  return textRef('health.webhook', { network: 'Telegram', setting, why: reason, waiting: pending });
}

/** The id of an update of any shape; -1 moves no offset. */
export function updateIdOf(update: unknown): number {
  if (typeof update !== 'object' || update === null || !('update_id' in update)) return -1;
  return Number.isSafeInteger(update.update_id) ? Number(update.update_id) : -1;
}
