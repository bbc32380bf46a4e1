/** Rate limit per sender: a token bucket for each, in bounded memory. */
import { Recent } from '../lib/recent.ts';

/** Messages a Telegram or Discord sender may send in a minute, and how many of them at once. */
export const MESSAGES_PER_MINUTE = 10;
export const BURST = 5;
/** Senders remembered at a time; a forgotten one starts with a full bucket. */
const MAX_SENDERS = 50_000;
/** A bucket is full again after this time, so it may be forgotten. */
const FULL_AFTER_MS = (60_000 / MESSAGES_PER_MINUTE) * BURST;

/** The decision; `tellUser` is true once each time a sender reaches the limit. */
export type RateVerdict = { allowed: true } | { allowed: false; retryAfterMs: number; tellUser: boolean };

/**
 * Makes the limiter. It counts by the time a message was sent (epoch milliseconds of the platform), so that messages that
 * piled up while the gateway was off are not taken for a flood; `monotonicNow` is the clock for forgetting senders.
 */
export function createRateLimiter(
  monotonicNow: () => number,
): (sender: string, sentAt: number) => RateVerdict {
  const buckets = new Recent<{ tokens: number; at: number; notified: boolean }>(
    FULL_AFTER_MS,
    MAX_SENDERS,
    monotonicNow,
  );
  const perMs = MESSAGES_PER_MINUTE / 60_000;
  return (sender, sentAt) => {
    const bucket = buckets.get(sender) ?? { tokens: BURST, at: sentAt, notified: false };
    const at = Math.max(sentAt, bucket.at);
    const tokens = Math.min(BURST, bucket.tokens + (at - bucket.at) * perMs);
    if (tokens >= 1) {
      buckets.set(sender, { tokens: tokens - 1, at, notified: false });
      return { allowed: true };
    }
    buckets.set(sender, { tokens, at, notified: true });
    return { allowed: false, retryAfterMs: Math.ceil((1 - tokens) / perMs), tellUser: !bucket.notified };
  };
}
