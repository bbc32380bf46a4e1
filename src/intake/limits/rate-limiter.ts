/** Rate limit per sender: a token bucket for each, in limited memory. */
import { z } from 'zod';
import { Recent } from '../../lib/recent.ts';

/** `limits` of config.json: model tokens of one user and UTC day, and how fast one person may write. */
export const limitsRule = z.strictObject({
  tokensPerDay: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .optional()
    .describe(
      'model tokens that one person, or one HTTP token, may use in a day (UTC); owners have no such limit; unset = no limit',
    ),
  messagesPerMinute: z
    .int()
    .min(1)
    .max(6_000)
    .default(10)
    .describe(
      'messages that one person may write in a minute; owners, and callers over HTTP, have no such limit',
    ),
  messagesAtOnce: z.int().min(1).max(1_000).default(5).describe('of these, how many at once'),
});

export type IntakeLimits = z.infer<typeof limitsRule>;
export type MessageRate = Pick<IntakeLimits, 'messagesPerMinute' | 'messagesAtOnce'>;

/** Default when config.json sets nothing else. */
export const MESSAGE_RATE: MessageRate = limitsRule.parse({});
/**
 * Consecutive refusals that a sender is notified about, each with a sentence; the last one says that it is the last.
 */
export const REFUSALS_REPORTED = 20;
/** Most senders remembered; a forgotten one starts with a full bucket. */
const MAX_SENDERS = 50_000;

/**
 * The decision; `giveBack` is for a message that could not be stored after all and will be tried again; `refusals`
 * counts those since the last allowed message, including this one.
 */
export type RateVerdict =
  | { allowed: true; giveBack: () => void }
  | { allowed: false; retryAfterMs: number; refusals: number };

/** Counts a message of a sender; `sentAt` is the platform's time in epoch milliseconds. */
export type RateLimiter = (sender: string, sentAt: number) => RateVerdict;

/**
 * Makes the limiter. It counts by the time a message was sent (epoch milliseconds of the platform), so that messages
 * that piled up while the gateway was down do not count as a flood; `monotonicNow` is the clock for forgetting senders.
 * When `rateNow` returns a different rate, everyone starts over.
 */
export function createRateLimiter(
  monotonicNow: () => number,
  rateNow: () => MessageRate = () => MESSAGE_RATE,
): RateLimiter {
  let rate = rateNow();
  let limit = limiterOf(rate, monotonicNow);
  return (sender, sentAt) => {
    const now = rateNow();
    if (now.messagesPerMinute !== rate.messagesPerMinute || now.messagesAtOnce !== rate.messagesAtOnce) {
      rate = now;
      limit = limiterOf(rate, monotonicNow);
    }
    return limit(sender, sentAt);
  };
}

/** The limiter of one rate. */
function limiterOf(
  { messagesPerMinute, messagesAtOnce: burst }: MessageRate,
  monotonicNow: () => number,
): RateLimiter {
  const perMs = messagesPerMinute / 60_000;
  // A bucket is full again after this time, so it may be forgotten.
  const fullAfterMs = burst / perMs;
  const buckets = new Recent<{ tokens: number; at: number; refusals: number }>(
    fullAfterMs,
    MAX_SENDERS,
    monotonicNow,
  );
  const giveBack = (sender: string): void => {
    const bucket = buckets.get(sender);
    if (bucket !== undefined) buckets.set(sender, { ...bucket, tokens: Math.min(burst, bucket.tokens + 1) });
  };
  return (sender, sentAt) => {
    const bucket = buckets.get(sender) ?? { tokens: burst, at: sentAt, refusals: 0 };
    const at = Math.max(sentAt, bucket.at);
    const tokens = Math.min(burst, bucket.tokens + (at - bucket.at) * perMs);
    if (tokens >= 1) {
      buckets.set(sender, { tokens: tokens - 1, at, refusals: 0 });
      return { allowed: true, giveBack: () => giveBack(sender) };
    }
    const refusals = bucket.refusals + 1;
    buckets.set(sender, { tokens, at, refusals });
    return { allowed: false, retryAfterMs: Math.ceil((1 - tokens) / perMs), refusals };
  };
}
