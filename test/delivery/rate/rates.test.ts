/** The limits themselves: a place's bucket, window and slowdown; trust in bursts. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlaceRate } from '../../../src/protocol/delivery.ts';
import { BurstTrust, REFUSED_PLACES } from '../../../src/delivery/rate/bot-limits.ts';
import {
  AFTER_BURST_MS,
  type CallKind,
  MAX_SLOWDOWN,
  PlaceLimit,
  RECOVER_MS,
} from '../../../src/delivery/rate/place-limit.ts';

const GROUP: PlaceRate = {
  key: '-1',
  editIntervalMs: 3_000,
  burst: 5,
  reserved: 2,
  window: { calls: 20, ms: 60_000 },
  countsForBot: true,
};
const PRIVATE: PlaceRate = { key: '1', editIntervalMs: 1_100, burst: 4, reserved: 1, countsForBot: true };
const KINDS: CallKind[] = ['final', 'first', 'edit'];

/** Makes calls of a kind as early as the limit allows; returns their times. */
function fill(limit: PlaceLimit, kind: CallKind, untilMs: number, from = 0): number[] {
  const times: number[] = [];
  for (let now = from; ;) {
    now = Math.max(now, limit.readyAt(kind, now, true));
    if (now > untilMs) return times;
    limit.count(now);
    times.push(now);
  }
}

describe('a group', () => {
  it('allows three first messages at once, two more finals, and then one call every 3 s', () => {
    const limit = new PlaceLimit(GROUP);
    expect(fill(limit, 'first', 0)).toHaveLength(3);
    expect(fill(limit, 'final', 0)).toHaveLength(2);
    expect(fill(limit, 'final', 9_000)).toEqual([3_000, 6_000, 9_000]);
  });

  it('allows one edit every 3 s, and none while the bucket refills', () => {
    const limit = new PlaceLimit(GROUP);
    expect(fill(limit, 'edit', 6_000)).toEqual([0, 3_000, 6_000]);
    fill(limit, 'final', 6_000, 6_000);
    expect(limit.readyAt('edit', 6_000, true)).toBe(21_000);
  });

  it('allows twenty calls in any minute, the last two of them finals', () => {
    const limit = new PlaceLimit(GROUP);
    expect(fill(limit, 'first', 59_999)).toHaveLength(18);
    expect(fill(limit, 'final', 59_999, 59_000)).toHaveLength(2);
    expect(limit.readyAt('final', 59_999, true)).toBe(60_000);
  });

  it('is never above its limits, whatever is called when', () => {
    const step = fc.record({ kind: fc.constantFrom(...KINDS), waitMs: fc.integer({ min: 0, max: 20_000 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const limit = new PlaceLimit(GROUP);
        const times: number[] = [];
        let now = 0;
        for (const { kind, waitMs } of steps) {
          now = Math.max(now + waitMs, limit.readyAt(kind, now + waitMs, true));
          limit.count(now);
          times.push(now);
        }
        const inWindow = (ms: number) =>
          Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
        expect(inWindow(60_000)).toBeLessThanOrEqual(20);
        expect(inWindow(3_000)).toBeLessThanOrEqual(5);
      }),
    );
  });
});

describe('a place', () => {
  it('slows down with each refusal, up to a bound, and recovers slowly', () => {
    const limit = new PlaceLimit(PRIVATE);
    let now = 0;
    for (let i = 0; i < 10; i++) limit.slowDown((now += 10_000), 1_000);
    expect(limit.intervalMs).toBe(1_100 * MAX_SLOWDOWN);
    for (let i = 0; i < 100; i++) limit.count((now += RECOVER_MS + 1));
    expect(limit.intervalMs).toBe(1_100);
  });

  it('slows down once for calls that were in flight together', () => {
    const limit = new PlaceLimit(PRIVATE);
    for (let i = 0; i < 5; i++) limit.slowDown(i, 1_000);
    expect(limit.intervalMs).toBe(2_200);
  });

  it('allows no early call for ten minutes after one was refused, at its usual interval', () => {
    const limit = new PlaceLimit(PRIVATE);
    limit.count(0);
    limit.refuseBurst(0, 500);
    expect([limit.intervalMs, limit.readyAt('final', 600, true)]).toEqual([1_100, 1_100]);
    const later = AFTER_BURST_MS + 1;
    limit.count(later);
    expect(limit.readyAt('final', later, true)).toBeLessThanOrEqual(later);
  });

  it('gives back a call that was not made', () => {
    const limit = new PlaceLimit(GROUP);
    fill(limit, 'first', 0);
    limit.giveBack();
    expect(fill(limit, 'first', 0)).toHaveLength(1);
  });
});

describe('trust in bursts', () => {
  const refuse = (trust: BurstTrust, key: string, now: number): void => {
    trust.start('private');
    trust.refuse('private', key, now);
  };

  it(`ends for a kind of place once ${REFUSED_PLACES} of its places were refused one, and returns after ten minutes`, () => {
    const trust = new BurstTrust();
    refuse(trust, '1', 0);
    refuse(trust, '1', 1);
    expect(trust.allowed('private', 1)).toBe(true);
    for (let place = 2; place <= REFUSED_PLACES; place++) refuse(trust, `${place}`, 2);
    expect([trust.allowed('private', 2), trust.allowed('group', 2)]).toEqual([false, true]);
    expect(trust.allowed('private', AFTER_BURST_MS + 2)).toBe(true);
  });

  it('starts with one early call at a time, until the platform has accepted one', () => {
    const trust = new BurstTrust();
    trust.start('private');
    expect(trust.allowed('private', 0)).toBe(false);
    trust.end('private', false);
    trust.start('private');
    trust.end('private', true);
    trust.start('private');
    expect(trust.allowed('private', 0)).toBe(true);
    trust.refuse('private', '1', 0);
    trust.start('private');
    expect(trust.allowed('private', 0)).toBe(false);
  });
});
