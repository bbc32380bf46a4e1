/** The daily budget of tokens: refused with the time of the reset, by UTC day, and free of cost if none is set. */
import { partial } from '../fakes/partial.ts';
import { expect, it } from 'vitest';
import { createTokenBudget } from '../../src/intake/limits.ts';
import { describeStore } from '../database.ts';

const NOON = Date.UTC(2026, 10, 22, 12);

describeStore('the budget of tokens', (databases) => {
  it('applies to one user and one UTC day, and says when it starts again', async () => {
    const store = await databases.open();
    let now = Date.now();
    now -= now % 86_400_000;
    const check = createTokenBudget(
      () => 100,
      store.usage,
      () => now,
    );
    const use = (userId: string, promptTokens: number) =>
      store.ledger.noteUsage({
        purpose: 'stateless',
        userId,
        model: 'm',
        promptTokens,
        completionTokens: 9,
        modelMs: 1,
      });
    await use('token:a', 90);
    await expect(check('token:a')).resolves.toBeUndefined();
    await use('token:a', 1);
    // Within the time for which a sum is cached.
    await expect(check('token:a')).resolves.toBeUndefined();
    now += 10_000;
    await expect(check('token:a')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterMs: 86_390_000,
      message: expect.stringMatching(
        /^You have used your 100 tokens for today; the limit resets at \d{4}-\d\d-\d\d 00:00 UTC\.$/,
      ),
    });
    await expect(check('token:b')).resolves.toBeUndefined();
    now += 86_400_000;
    await expect(check('token:a')).resolves.toBeUndefined();
  });

  it('costs no query if none is set', async () => {
    const sum = () => Promise.reject(new Error('asked'));
    const check = createTokenBudget(
      () => undefined,
      partial({ sum }),
      () => NOON,
    );
    await expect(check('token:a')).resolves.toBeUndefined();
  });
});
