/** Rate limit per sender: a token bucket for each, in bounded memory. */
import { Recent } from '../lib/recent.ts';

/** Messages a Telegram or Discord sender may send in a minute, and how many of them at once. */
export const MESSAGES_PER_MINUTE = 10;
export const BURST = 5;
/** Senders remembered at a time; a forgotten one starts with a full bucket. */
const MAX_SENDERS = 50_000;
/** A bucket is full again after this time, so it may be forgotten. */
const FULL_AFTER_MS = (60_000 / MESSAGES_PER_MINUTE) * BURST;

/** What came of asking; `tellUser` is true once for each time a sender runs dry. */
export type RateVerdict = { allowed: true } | { allowed: false; retryAfterMs: number; tellUser: boolean };

/**
 * Makes the limiter. It counts by when a message was sent (epoch milliseconds of the platform), so that what piled up while
 * the gateway was off is not mistaken for a flood; `monotonicNow` is what forgetting is measured by.
 */
export function createRateLimiter(
  monotonicNow: () => number,
): (sender: string, sentAt: number) => RateVerdict {
  const buckets = new Recent<{ tokens: number; at: number; told: boolean }>(
    FULL_AFTER_MS,
    MAX_SENDERS,
    monotonicNow,
  );
  const perMs = MESSAGES_PER_MINUTE / 60_000;
  return (sender, sentAt) => {
    const bucket = buckets.get(sender) ?? { tokens: BURST, at: sentAt, told: false };
    const at = Math.max(sentAt, bucket.at);
    const tokens = Math.min(BURST, bucket.tokens + (at - bucket.at) * perMs);
    if (tokens >= 1) {
      buckets.set(sender, { tokens: tokens - 1, at, told: false });
      return { allowed: true };
    }
    buckets.set(sender, { tokens, at, told: true });
    return { allowed: false, retryAfterMs: Math.ceil((1 - tokens) / perMs), tellUser: !bucket.told };
  };
}
