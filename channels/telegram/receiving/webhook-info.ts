/** The webhook's address, and what Telegram reports about it. Pure. */
import { textRef, type TextRef } from '../../../src/protocol/texts/say.ts';
import { stripEnd } from '../../../src/lib/text.ts';

/** The path below the gateway's public address (see docs/http-api.md). */
const WEBHOOK_PATH = '/v1/updates/telegram';

/** An error that Telegram reported longer ago than this is over. */
const ERROR_MS = 300_000;

/** The full address that Telegram posts to. */
export function webhookAddress(url: string): string {
  const base = stripEnd(url, '/');
  return base.endsWith(WEBHOOK_PATH) ? base : base + WEBHOOK_PATH;
}

/** The parts of `getWebhookInfo` that matter to operators. */
export interface WebhookInfo {
  url?: string | undefined;
  pending_update_count?: number | undefined;
  /** Seconds since 1970. */
  last_error_date?: number | undefined;
  last_error_message?: string | undefined;
}

/** The error of the last post, in words, while it lasts; undefined when posts arrive. */
export function webhookTrouble(info: WebhookInfo, nowMs: number): TextRef | undefined {
  const {
    pending_update_count: waiting = 0,
    last_error_date: at,
    last_error_message: why = 'no reason',
  } = info;
  if (at === undefined || nowMs - at * 1_000 > ERROR_MS || waiting === 0) return undefined;
  return textRef('health.webhook', {
    network: 'Telegram',
    setting: 'channels.telegram.webhook.url',
    why: why.slice(0, 300),
    waiting,
  });
}
