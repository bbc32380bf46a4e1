/** Rate limit per sender: a token bucket for each, in limited memory. */
import { z } from 'zod';
import { TtlCache } from '../lib/ttl-cache.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { UsageStore } from '../protocol/agent/usage.ts';
import { textRef } from '../protocol/texts/say.ts';

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
  messagesAtOnce: z.int().min(1).max(1_000).default(5).describe('how many of these may arrive at once'),
});

export type IntakeLimits = z.infer<typeof limitsRule>;

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

const DAY_MS = 86_400_000;

/** How long a user's sum is cached: an answer that ended in the meantime counts after that. */
const SUM_KEPT_MS = 10_000;

const MAX_USERS = 10_000;

/** Throws `GatewayError('rate_limited')` with the time of the reset when this user id has used up its day, or `StoreError`. */
export type CheckTokenBudget = (userId: string) => Promise<void>;

/**
 * Makes the check. It happens before an answer, which may then exceed the budget: the next one is refused. A sum is cached
 * for `keptMs`.
 */
export function createTokenBudget(
  limitNow: () => number | undefined,
  usage: UsageStore,
  epochNow: () => number,
  keptMs: number = SUM_KEPT_MS,
): CheckTokenBudget {
  const sums = new TtlCache<number>(keptMs, MAX_USERS, epochNow);
  return async (userId) => {
    const tokensPerDay = limitNow();
    if (tokensPerDay === undefined) return;
    const now = epochNow();
    const today = now - (now % DAY_MS);
    const key = `${today} ${userId}`;
    let tokens = sums.get(key);
    if (tokens === undefined) {
      const { promptTokens, completionTokens } = await usage.sum({
        from: new Date(today),
        to: new Date(today + DAY_MS),
        userId,
      });
      tokens = promptTokens + completionTokens;
      sums.set(key, tokens);
    }
    if (tokens < tokensPerDay) return;
    const reset = new Date(today + DAY_MS);
    throw new GatewayError(
      'rate_limited',
      textRef('refused.tokens', {
        tokens: tokensPerDay,
        reset: reset.toISOString().slice(0, 16).replace('T', ' '),
      }),
      { retryable: true, retryAfterMs: reset.getTime() - now },
    );
  };
}

/** The same check for the beginning of a turn, with nothing cached: many messages may have been accepted in the same moment. */
export function createTurnBudget({
  settings,
  store,
}: {
  settings: { current(): { limits: IntakeLimits } };
  store: { usage: UsageStore };
}): CheckTokenBudget {
  return createTokenBudget(() => settings.current().limits.tokensPerDay, store.usage, Date.now, 0);
}
