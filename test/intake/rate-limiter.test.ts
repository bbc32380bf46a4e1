/** The bucket of one sender, on a clock that the test controls. */
import { describe, expect, it } from 'vitest';
import {
  createRateLimiter,
  GROUP_REFUSAL_MS,
  MESSAGE_RATE,
  REFUSALS_REPORTED,
} from '../../src/intake/limits.ts';

const { messagesAtOnce: BURST, messagesPerMinute: MESSAGES_PER_MINUTE } = MESSAGE_RATE;

function limiterAt() {
  const clock = { ms: 0 };
  const limiter = createRateLimiter(() => clock.ms);
  return { clock, limit: (sender: string) => limiter(sender, clock.ms), limitAt: limiter };
}

describe('the rate of one sender', () => {
  it(`lets ${BURST} messages through at once and refuses the next`, () => {
    const { limit } = limiterAt();
    for (let n = 0; n < BURST; n += 1) expect(limit('telegram:1')).toMatchObject({ allowed: true });
    expect(limit('telegram:1')).toMatchObject({ allowed: false, refusals: 1 });
  });

  it('counts a message that was given back only when it comes again', () => {
    const { limit } = limiterAt();
    for (let n = 0; n < 10 * BURST; n += 1) {
      const rate = limit('telegram:1');
      if (!rate.allowed) throw new Error(`try ${n} was refused`);
      rate.giveBack();
    }
    for (let n = 0; n < BURST; n += 1) expect(limit('telegram:1').allowed).toBe(true);
    expect(limit('telegram:1').allowed).toBe(false);
  });

  it('counts the refusals in a row, starting over after a message that was allowed', () => {
    const { limit, clock } = limiterAt();
    for (let n = 0; n < BURST; n += 1) limit('telegram:1');
    for (let n = 1; n <= REFUSALS_REPORTED + 1; n += 1)
      expect(limit('telegram:1')).toMatchObject({ refusals: n });
    clock.ms += 60_000 / MESSAGES_PER_MINUTE;
    expect(limit('telegram:1').allowed).toBe(true);
    expect(limit('telegram:1')).toMatchObject({ refusals: 1 });
  });

  it(`names refusals within ${GROUP_REFUSAL_MS} ms of a reported one as repeats`, () => {
    const { limitAt } = limiterAt();
    for (let n = 0; n < BURST; n += 1) limitAt('telegram:1', 0);
    const isRepeat = [0, 0, 5_999]
      .map((at) => limitAt('telegram:1', at))
      .map((rate) => !rate.allowed && rate.isRepeat);
    expect(isRepeat).toEqual([false, true, true]);
    limitAt('telegram:1', GROUP_REFUSAL_MS - 1);
    expect(limitAt('telegram:1', GROUP_REFUSAL_MS - 1)).toMatchObject({ isRepeat: true });
    expect(limitAt('telegram:1', GROUP_REFUSAL_MS)).toMatchObject({ isRepeat: false });
  });

  it('follows the limits it is given', () => {
    const clock = { ms: 0 };
    let rate = { messagesPerMinute: 60, messagesAtOnce: 2 };
    const limit = createRateLimiter(
      () => clock.ms,
      () => rate,
    );
    expect([1, 2, 3].map(() => limit('telegram:1', clock.ms).allowed)).toEqual([true, true, false]);
    clock.ms += 1_000;
    expect(limit('telegram:1', clock.ms).allowed).toBe(true);
    expect(limit('telegram:1', clock.ms).allowed).toBe(false);
    rate = { messagesPerMinute: 60, messagesAtOnce: 3 };
    expect([1, 2, 3, 4].map(() => limit('telegram:1', clock.ms).allowed)).toEqual([true, true, true, false]);
  });

  it(`refills ${MESSAGES_PER_MINUTE} a minute, and says how long to wait`, () => {
    const { limit, clock } = limiterAt();
    for (let n = 0; n < BURST; n += 1) limit('telegram:1');
    const refused = limit('telegram:1');
    expect(refused).toMatchObject({ allowed: false, retryAfterMs: 60_000 / MESSAGES_PER_MINUTE });
    clock.ms += 60_000 / MESSAGES_PER_MINUTE - 1;
    expect(limit('telegram:1').allowed).toBe(false);
    clock.ms += 1;
    expect(limit('telegram:1').allowed).toBe(true);
  });

  it('accepts what piled up over an hour while the gateway was off', () => {
    const { limitAt } = limiterAt();
    for (let minute = 0; minute < 60; minute += 1) {
      for (let n = 0; n < BURST; n += 1)
        expect(limitAt('telegram:1', minute * 60_000 + n)).toMatchObject({ allowed: true });
    }
  });

  it('refills nothing for a message that claims to be older', () => {
    const { limitAt } = limiterAt();
    for (let n = 0; n < BURST; n += 1) limitAt('telegram:1', 60_000);
    expect(limitAt('telegram:1', 0).allowed).toBe(false);
  });

  it('keeps senders separate', () => {
    const { limit } = limiterAt();
    for (let n = 0; n <= BURST; n += 1) limit('telegram:1');
    expect(limit('discord:1').allowed).toBe(true);
  });
});
