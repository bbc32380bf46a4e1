/** Rate limit per sender: a token bucket for each, in limited memory. */
import { z } from 'zod';
import { TtlCache } from '../lib/ttl-cache.ts';
import { capFields } from '../protocol/agent/budgets.ts';

/** `limits` of config.json: budgets, and how fast one person may write. */
export const limitsRule = z.strictObject({
  ...capFields('each person, or each HTTP token,'),
  profile: z.strictObject(capFields('each profile')).prefault({}),
  schedule: z.strictObject(capFields('each schedule')).prefault({}),
  plan: z.strictObject(capFields('each plan')).prefault({}),
  total: z.strictObject(capFields('all work together')).prefault({}),
  messagesPerMinute: z
    .int()
    .min(1)
    .max(6_000)
    .default(10)
    .describe(
      'messages that one person may write in a minute; owners, and callers over HTTP, have no such limit',
    ),
  messagesAtOnce: z.int().min(1).max(1_000).default(5).describe('how many of these may arrive at once'),
});

/** How fast one person may write. */
export type IntakeLimits = Pick<z.infer<typeof limitsRule>, 'messagesPerMinute' | 'messagesAtOnce'>;

/** Default when config.json sets nothing else. */
export const MESSAGE_RATE: IntakeLimits = limitsRule.parse({});
/** How many refusals in a row a sender reads, one sentence each; the last one says that it is the last. */
export const REFUSALS_REPORTED = 20;
/** In a group, a sender reads one refusal in this time, in milliseconds: everyone there sees them, and they use up its calls. */
export const GROUP_REFUSAL_MS = 10_000;
/** Most senders remembered; a forgotten one starts with a full bucket. */
const MAX_SENDERS = 50_000;

/**
 * `giveBack` is for a message that could not be stored and is retried; `refusals` counts since the last allowed
 * message, including this one; `isRepeat`: one was reported within `GROUP_REFUSAL_MS`.
 */
export type RateVerdict =
  | { allowed: true; giveBack: () => void }
  | { allowed: false; retryAfterMs: number; refusals: number; isRepeat: boolean };

/** Counts a message of a sender; `sentAt` is the platform's time in epoch milliseconds. */
export type RateLimiter = (sender: string, sentAt: number) => RateVerdict;

/**
 * Makes the limiter. It counts by the platform's time (epoch milliseconds), so messages that piled up while the gateway
 * was down are no flood; `monotonicNow` is the clock for forgetting senders. A new rate starts everyone over.
 */
export function createRateLimiter(
  monotonicNow: () => number,
  rateNow: () => IntakeLimits = () => MESSAGE_RATE,
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

function limiterOf(
  { messagesPerMinute, messagesAtOnce: capacity }: IntakeLimits,
  monotonicNow: () => number,
): RateLimiter {
  const perMs = messagesPerMinute / 60_000;
  // A bucket is full again after this time, so it may be forgotten.
  const fullAfterMs = capacity / perMs;
  const buckets = new TtlCache<{ tokens: number; at: number; refusals: number; reportedAt: number }>(
    fullAfterMs,
    MAX_SENDERS,
    monotonicNow,
  );
  const giveBack = (sender: string): void => {
    const bucket = buckets.get(sender);
    if (bucket !== undefined)
      buckets.set(sender, { ...bucket, tokens: Math.min(capacity, bucket.tokens + 1) });
  };
  return (sender, sentAt) => {
    const bucket = buckets.get(sender) ?? {
      tokens: capacity,
      at: sentAt,
      refusals: 0,
      reportedAt: Number.NEGATIVE_INFINITY,
    };
    const at = Math.max(sentAt, bucket.at);
    const tokens = Math.min(capacity, bucket.tokens + (at - bucket.at) * perMs);
    if (tokens >= 1) {
      buckets.set(sender, { ...bucket, tokens: tokens - 1, at, refusals: 0 });
      return { allowed: true, giveBack: () => giveBack(sender) };
    }
    const refusals = bucket.refusals + 1;
    const isRepeat = at - bucket.reportedAt < GROUP_REFUSAL_MS;
    buckets.set(sender, { tokens, at, refusals, reportedAt: isRepeat ? bucket.reportedAt : at });
    return { allowed: false, retryAfterMs: Math.ceil((1 - tokens) / perMs), refusals, isRepeat };
  };
}
