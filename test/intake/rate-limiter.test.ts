/** The bucket of one sender, by a clock that the test turns. */
import { describe, expect, it } from 'vitest';
import { BURST, createRateLimiter, MESSAGES_PER_MINUTE } from '../../src/intake/rate-limiter.ts';

function limiterAt() {
  const clock = { ms: 0 };
  const limiter = createRateLimiter(() => clock.ms);
  return { clock, limit: (sender: string) => limiter(sender, clock.ms), limitAt: limiter };
}

describe('the rate of one sender', () => {
  it(`lets ${BURST} messages through at once and refuses the next`, () => {
    const { limit } = limiterAt();
    for (let n = 0; n < BURST; n += 1) expect(limit('telegram:1')).toEqual({ allowed: true });
    expect(limit('telegram:1')).toMatchObject({ allowed: false, tellUser: true });
  });

  it('notifies a sender once, not at each refused message', () => {
    const { limit } = limiterAt();
    for (let n = 0; n <= BURST; n += 1) limit('telegram:1');
    expect(limit('telegram:1')).toMatchObject({ allowed: false, tellUser: false });
  });

  it(`gives ${MESSAGES_PER_MINUTE} a minute back, and says how long to wait`, () => {
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
        expect(limitAt('telegram:1', minute * 60_000 + n)).toEqual({ allowed: true });
    }
  });

  it('gives nothing back for a message that claims to be older', () => {
    const { limitAt } = limiterAt();
    for (let n = 0; n < BURST; n += 1) limitAt('telegram:1', 60_000);
    expect(limitAt('telegram:1', 0).allowed).toBe(false);
  });

  it('keeps senders apart', () => {
    const { limit } = limiterAt();
    for (let n = 0; n <= BURST; n += 1) limit('telegram:1');
    expect(limit('discord:1').allowed).toBe(true);
  });
});
