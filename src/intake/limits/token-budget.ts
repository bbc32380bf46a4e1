/** The day's budget of model tokens for one sender or one HTTP token; owners have none. */
import { GatewayError } from '../../protocol/errors.ts';
import type { UsageStore } from '../../protocol/agent/usage.ts';
import { Recent } from '../../lib/recent.ts';
import { textRef } from '../../protocol/texts/say.ts';

const DAY_MS = 86_400_000;
/** How long a user's sum is cached: an answer that ended in the meantime counts after that. */
const SUM_KEPT_MS = 10_000;
const MAX_USERS = 10_000;

export interface TokenBudgetDeps {
  /** Current limit of tokens per user and UTC day; undefined = no limit, and no query. */
  tokensPerDay: () => number | undefined;
  usage: Pick<UsageStore, 'sum'>;
  /** Epoch milliseconds. */
  epochNow: () => number;
}

/** Throws `GatewayError('rate_limited')` with the time of the reset when this user id has used up its day, or `StoreError`. */
export type CheckTokenBudget = (userId: string) => Promise<void>;

/** Makes the check. It happens before an answer, which may then exceed the budget: the next one is refused. */
export function createTokenBudget({
  tokensPerDay: limitNow,
  usage,
  epochNow,
}: TokenBudgetDeps): CheckTokenBudget {
  const used = new Recent<number>(SUM_KEPT_MS, MAX_USERS, epochNow);
  return async (userId) => {
    const tokensPerDay = limitNow();
    if (tokensPerDay === undefined) return;
    const now = epochNow();
    const today = now - (now % DAY_MS);
    const key = `${today} ${userId}`;
    let tokens = used.get(key);
    if (tokens === undefined) {
      const { promptTokens, completionTokens } = await usage.sum({
        from: new Date(today),
        to: new Date(today + DAY_MS),
        userId,
      });
      tokens = promptTokens + completionTokens;
      used.set(key, tokens);
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
