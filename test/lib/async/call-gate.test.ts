/** When calls to a server may go out: the waits it asks for, and those after it has refused the caller. */
import { describe, expect, it } from 'vitest';
import { RetryAfterPauses, Refusals } from '../../../src/lib/async/call-gate.ts';

describe('pauses', () => {
  it('last as long as the server asked for, each for its own kind of calls', () => {
    let now = 1_000;
    const pauses = new RetryAfterPauses(2, () => now);
    pauses.note('send', 500);
    expect([pauses.left('send'), pauses.left('edit')]).toEqual([500, 0]);
    now += 499;
    expect(pauses.left('send')).toBe(1);
    now += 1;
    expect(pauses.left('send')).toBe(0);
  });

  it('are limited in number, and the oldest one is dropped', () => {
    const pauses = new RetryAfterPauses(2, () => 0);
    pauses.note('a', 10);
    pauses.note('b', 20);
    pauses.note('a', 30);
    expect([pauses.left('a'), pauses.left('b')]).toEqual([30, 20]);
    pauses.note('c', 40);
    expect([pauses.left('a'), pauses.left('b'), pauses.left('c')]).toEqual([30, 0, 40]);
  });
});

describe('refusals', () => {
  const begin = () => {
    const clock = { now: 0 };
    const waits = { firstMs: 5, capMs: 60, lastsAfterMs: 600, lastingMs: 3_600 };
    return { clock, refusals: new Refusals(waits, () => clock.now) };
  };
  /** This many refusals, each as soon as a retry is allowed after the last; returns their waits. */
  const refuse = ({ clock, refusals }: ReturnType<typeof begin>, times: number): number[] =>
    Array.from({ length: times }, () => {
      refusals.note();
      const { leftMs } = refusals;
      clock.now += leftMs;
      return leftMs;
    });

  it('are retried after twice the wait each time, up to a cap', () => {
    const begun = begin();
    expect([begun.refusals.state, begun.refusals.leftMs]).toEqual([undefined, 0]);
    expect(refuse(begun, 6)).toEqual([5, 10, 20, 40, 60, 60]);
    expect([begun.refusals.state, begun.refusals.leftMs]).toEqual(['refused', 0]);
  });

  it('count as lasting after a while, and are then retried rarely, but soon if the server gave no reason', () => {
    const { clock, refusals } = begin();
    refusals.note();
    clock.now = 599;
    expect(refusals.state).toBe('refused');
    clock.now = 600;
    expect(refusals.state).toBe('lasting');
    refusals.note();
    expect(refusals.leftMs).toBe(3_600);
    refusals.note(false);
    expect(refusals.leftMs).toBe(20);
  });

  it('are cleared by the first accepted call', () => {
    const begun = begin();
    refuse(begun, 3);
    begun.refusals.clear();
    expect([begun.refusals.state, begun.refusals.leftMs]).toEqual([undefined, 0]);
    expect(refuse(begun, 1)).toEqual([5]);
  });
});
