/**
 * Webhook mode: Telegram posts updates to any node, which stores them; the node with the bot's lane receives them
 * from the store.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { PlatformWebhook, StoredUpdate } from '../../../src/protocol/receive.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import { type BotApi, WANTED_UPDATES } from '../api/bot-api.ts';
import { webhookAddress, type WebhookInfo, webhookTrouble } from './webhook-info.ts';
import type { PostedUpdates, UpdateSource, UpdateWait } from './update-source.ts';

/** How often the node looks for updates that another node stored; it receives its own at once. */
const LOOK_MS = 250;

/** How often the node asks Telegram whether its posts arrive. */
const CHECK_MS = 60_000;

/** The channel's webhook settings. */
export interface WebhookConfig {
  /** Public address of the gateway. */
  url: string;
  /** Secret. Telegram sends it with each post; derived from the bot token by default, so that all nodes know it. */
  secret?: string | undefined;
}

/**
 * The secret of the webhook (Bot API `secret_token`: 1-256 of A-Z, a-z, 0-9, _ and -); the token cannot be derived
 * from it.
 */
function secretOf(token: string, { secret }: WebhookConfig): string {
  return secret ?? createHmac('sha256', token).update('parley webhook of telegram').digest('base64url');
}

const update = z.looseObject({ update_id: z.int().min(0) });

/** Dependencies of a webhook. `token` is secret. */
export interface WebhookParts {
  token: string;
  bot: BotApi;
  config: WebhookConfig;
  posted: PostedUpdates;
  log: Log;
  clock: Clock;
}

/** The webhook of one bot: its route on every node, and the source of updates on the node that receives. */
export class TelegramWebhook implements PlatformWebhook {
  readonly #parts: WebhookParts;
  readonly #secret: string;
  /** Waiters for the next update; at most the one receiver. */
  readonly #arrivals = new Set<() => void>();

  constructor(parts: WebhookParts) {
    this.#parts = parts;
    this.#secret = secretOf(parts.token, parts.config);
  }

  isGenuine(headers: Parameters<PlatformWebhook['isGenuine']>[0]): boolean {
    const sent = headers['x-telegram-bot-api-secret-token'];
    if (typeof sent !== 'string') return false;
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    return timingSafeEqual(digest(sent), digest(this.#secret));
  }

  async takeUpdate(body: unknown): Promise<StoredUpdate | 'invalid'> {
    const { data } = update.safeParse(body);
    if (data === undefined) return 'invalid';
    const stored = await this.#parts.posted.add({ id: data.update_id, update: body });
    if (stored === 'stored') for (const arrive of this.#arrivals) arrive();
    return stored;
  }

  /** The updates that were posted to any node, once Telegram knows the address. */
  source(): UpdateSource {
    let health: ChannelHealth = { state: 'up' };
    const { posted } = this.#parts;
    let checkedAt: number | undefined;
    const check = async (signal: AbortSignal): Promise<void> => {
      const now = this.#parts.clock.monotonicMs();
      if (checkedAt !== undefined && now - checkedAt < CHECK_MS) return;
      health = await this.#check(checkedAt === undefined);
      signal.throwIfAborted();
      checkedAt = now;
    };
    return {
      next: async ({ waitMs }: UpdateWait, signal) => {
        await check(signal);
        const until = this.#parts.clock.monotonicMs() + waitMs;
        for (;;) {
          const arrival = this.#arrival(signal);
          const updates = await posted.next();
          if (updates.length > 0 || this.#parts.clock.monotonicMs() >= until) {
            arrival.forget();
            return updates;
          }
          await arrival.wait;
          signal.throwIfAborted();
        }
      },
      finish: (ids, open) => posted.finish(ids, open),
      health: () => health,
    };
  }

  /**
   * Starts to listen before the store is read, so that an update that arrives during the read does not have to wait.
   */
  #arrival(signal: AbortSignal): { wait: Promise<void>; forget: () => void } {
    const over = new AbortController();
    const forget = (): void => over.abort();
    this.#arrivals.add(forget);
    const wait = pause(LOOK_MS, AbortSignal.any([signal, over.signal]));
    return { wait: wait.finally(() => this.#arrivals.delete(forget)), forget };
  }

  /** Sets the webhook if it is not as it should be, and always if `first`: the secret may be a new one. */
  async #check(first: boolean): Promise<ChannelHealth> {
    const { bot, config, log, clock } = this.#parts;
    const url = webhookAddress(config.url);
    const info = await bot.call('getWebhookInfo', (api, limit) => api.getWebhookInfo(limit));
    if (first || info.url !== url) {
      if (!first) log.warn('telegram_webhook_replaced');
      // Updates that are waiting at Telegram are kept.
      const kept = { drop_pending_updates: false, allowed_updates: WANTED_UPDATES };
      const options = { ...kept, secret_token: this.#secret };
      await bot.call('setWebhook', (api, limit) => api.setWebhook(url, options, limit));
      log.info({ waiting: info.pending_update_count }, 'telegram_webhook_set');
    }
    return healthOf(info, clock.epochMs());
  }
}

function healthOf(info: WebhookInfo, nowMs: number): ChannelHealth {
  const detail = webhookTrouble(info, nowMs);
  const waiting = info.pending_update_count ?? 0;
  return detail === undefined ? { state: 'up', waiting } : { state: 'degraded', detail, waiting };
}
