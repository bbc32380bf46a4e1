/** The rate of a bot, learned in both directions: what raises it, what lowers it, and the bucket of some platforms. */
import { describe, expect, it } from 'vitest';
import type { PlaceRate } from '../../../src/protocol/delivery.ts';
import { BotLimits } from '../../../src/delivery/rate/bot-limits.ts';
import {
  BotRate,
  LEAST_PER_SECOND,
  RAISE_EVERY_MS,
  RAISE_SOON_MS,
} from '../../../src/delivery/rate/bot-rate.ts';
import { type CallKind, PlaceLimit } from '../../../src/delivery/rate/place-limit.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';

/** How long a refused rate is remembered, in milliseconds. */
const CEILING_MS = 3_600_000;

const PRIVATE: PlaceRate = { key: '1', editIntervalMs: 1_100, burst: 4, reserved: 1, countsForBot: true };

describe("a bot's rate", () => {
  const start = { start: 28, most: 60 };
  /** Lets calls wait for this long. */
  const wait = (rate: BotRate, from: number, ms: number) => {
    for (let now = from; now <= from + ms; now += 100) rate.noteWaiting(now, true);
  };

  it('rises by one every ten seconds, only while calls wait, up to its maximum', () => {
    const rate = new BotRate(start);
    wait(rate, 0, RAISE_EVERY_MS * 3);
    expect(rate.perSecond(0)).toBe(31);
    for (let now = 30_000; now < 300_000; now += 9_000) {
      rate.noteWaiting(now, true);
      rate.noteWaiting(now + 8_000, false);
    }
    expect(rate.perSecond(0)).toBe(31);
    wait(rate, 300_000, RAISE_EVERY_MS * 100);
    expect(rate.perSecond(0)).toBe(60);
  });

  it('rises to the usual rate within seconds while calls wait, then slowly, and only slowly once a call was refused', () => {
    const rate = new BotRate({ start: 19, usual: 28, most: 60 });
    for (let now = 0; now < 9 * RAISE_SOON_MS; now += 10) rate.noteWaiting(now, true);
    expect(rate.perSecond(0)).toBe(27);
    rate.noteWaiting(9 * RAISE_SOON_MS, true);
    rate.noteWaiting(10 * RAISE_SOON_MS, true);
    expect(rate.perSecond(0)).toBe(28);
    const refused = new BotRate({ start: 19, usual: 28, most: 60 });
    refused.slowDown(1_000, 999, 1_000);
    for (let now = 2_000; now < 2_000 + RAISE_EVERY_MS; now += 10) refused.noteWaiting(now, true);
    expect(refused.perSecond(2_000)).toBeCloseTo(0.8 * 19);
  });

  it('falls below one call a second if it began below it', () => {
    const rate = new BotRate({ start: 0.5, most: 20 });
    rate.slowDown(1_000, 999, 3_000);
    expect(rate.perSecond(4_000)).toBeCloseTo(0.4);
    for (let at = 10_000; at < 400_000; at += 10_000) rate.slowDown(at, at - 1, 1_000);
    expect(rate.perSecond(500_000)).toBeCloseTo(0.1);
  });

  it('halves for the pause of a refusal, resumes at 80 %, and stays below the refused rate for an hour', () => {
    const rate = new BotRate(start);
    rate.slowDown(1_000, 999, 3_000);
    expect([rate.perSecond(1_000), rate.perSecond(3_999)]).toEqual([14, 14]);
    expect(rate.perSecond(4_000)).toBeCloseTo(22.4);
    wait(rate, 4_000, CEILING_MS - 10_000);
    expect(rate.perSecond(CEILING_MS)).toBeCloseTo(26.6);
    wait(rate, CEILING_MS + 1_000, RAISE_EVERY_MS * 2);
    expect(rate.perSecond(2 * CEILING_MS)).toBeGreaterThan(27);
  });

  it('counts calls that were in flight together once, and one within the pause only for the pause', () => {
    const rate = new BotRate(start);
    for (const startedAt of [997, 998, 999]) rate.slowDown(1_000, startedAt, 3_000);
    expect(rate.perSecond(1_001)).toBe(14);
    rate.slowDown(1_100, 1_050, 3_000);
    expect([rate.perSecond(1_101), rate.perSecond(4_100)]).toEqual([7, expect.closeTo(22.4)]);
    for (let now = 1_200; now < 4_000; now += 10) rate.slowDown(now, now - 1, 100);
    expect(rate.perSecond(3_999)).toBe(LEAST_PER_SECOND);
  });

  it('makes no call immediately after a refusal, and the next one at the lower rate, at the latest when the pause ends', () => {
    const readyAfter = ({ start: first, pauseMs }: { start: number; pauseMs: number }): number => {
      const rate = new BotRate({ start: first, most: 60 });
      rate.slowDown(1_000, 999, pauseMs);
      return rate.readyAt(1_000) - 1_000;
    };
    expect(readyAfter({ start: 28, pauseMs: 1_000 })).toBeCloseTo(1_000 / 14);
    expect(readyAfter({ start: 0.5, pauseMs: 1_000 })).toBeLessThanOrEqual(1_000);
  });

  it('stops for the rest of a pause in which calls are refused and none is accepted', () => {
    const untilReady = (taken: boolean): number => {
      const rate = new BotRate(start);
      rate.slowDown(1_000, 999, 3_000);
      if (taken) rate.pass(1_050);
      for (const now of [1_100, 1_200, 1_300]) rate.slowDown(now, now - 1, 4_000 - now);
      return rate.readyAt(1_300);
    };
    // Four halvings of 28 a second.
    expect(untilReady(true)).toBeCloseTo(1_300 + 1_000 / 1.75);
    expect(untilReady(false)).toBe(4_000);
  });

  it('is changed only by the refusal of a quiet place, while the bot is busy', () => {
    const refusal = new ChannelError('rate_limited', 'slow down', { retryAfterMs: 1_000 });
    const limits = new BotLimits({ start: 28, most: 28 });
    const place = (key: string) => new PlaceLimit({ ...PRIVATE, key });
    const alone = limits.count(place('alone'), 'first', 0);
    limits.refuse(alone, refusal, 80);
    expect(limits.perSecond(80)).toBe(28);
    for (let call = 0; call < 20; call++) limits.count(place(`${call}`), 'edit', 2_000 + call * 36);
    const busy = place('busy');
    busy.count(2_000);
    limits.refuse(limits.count(busy, 'edit', 2_800), refusal, 2_880);
    expect([limits.perSecond(2_880), busy.isQuiet(2_880)]).toEqual([28, false]);
    limits.refuse(limits.count(place('quiet'), 'edit', 2_900), refusal, 2_980);
    expect(limits.perSecond(2_980)).toBe(14);
  });
});

describe("a bot's bucket", () => {
  const open = (): BotRate => new BotRate({ start: 10, most: 20 }, 10);
  /** Calls of a kind that are made at once. */
  const atOnce = (rate: BotRate, kind: CallKind, now: number): number => {
    let calls = 0;
    for (; rate.readyAt(now, kind) <= now; calls++) rate.count(now);
    return calls;
  };

  it('is what a refusal concerns, however busy the place was that was refused', () => {
    const limits = new BotLimits({ start: 10, most: 20 }, 10);
    const place = new PlaceLimit(PRIVATE);
    for (let call = 0; call < 3; call += 1) limits.count(place, 'edit', call * 100);
    const refusal = new ChannelError('rate_limited', 'slow down', { retryAfterMs: 2_000 });
    limits.refuse(limits.count(place, 'final', 300), refusal, 300);
    expect(limits.perSecond(2_300)).toBeCloseTo(0.25);
    expect(place.intervalMs).toBe(PRIVATE.editIntervalMs);
  });

  it('allows as many calls at once as it holds, the last two of them not edits', () => {
    const rate = open();
    expect(atOnce(rate, 'edit', 0)).toBe(8);
    expect(atOnce(rate, 'first', 0)).toBe(2);
    expect([rate.readyAt(0, 'final'), rate.readyAt(0, 'edit')]).toEqual([100, 300]);
  });

  it('is empty after a refusal, whose wait is the pace itself: one call after it, and edits two calls later', () => {
    const rate = open();
    rate.slowDown(1_000, 999, 5_000);
    expect(rate.perSecond(6_000)).toBeCloseTo(0.1);
    expect([rate.readyAt(6_000, 'final'), rate.readyAt(6_000, 'edit')]).toEqual([6_000, 26_000]);
    // Whoever asks while the pause lasts learns the same, and need not ask again.
    expect(rate.readyAt(1_000, 'final')).toBe(6_000);
  });

  it('has the pace that two refusals show, if it was not full in between', () => {
    const paceAfter = (calls: number): number => {
      const rate = open();
      rate.slowDown(1_000, 999, 2_000);
      for (let call = 0; call < calls; call += 1) rate.pass(3_000 + call);
      // Empty until 3 s, and again until 23 s.
      rate.slowDown(21_500, 21_499, 1_500);
      return rate.perSecond(23_000);
    };
    expect(paceAfter(4)).toBeCloseTo(0.2 * 0.95);
    expect(paceAfter(9)).toBeCloseTo(0.45 * 0.95);
    for (const calls of [0, 10]) expect(paceAfter(calls)).toBeCloseTo(0.5 * 0.25);
  });

  it('rises after a refusal to just below the pace that it implied, and refills at the new pace', () => {
    const rate = open();
    rate.slowDown(1_000, 999, 5_000);
    for (let now = 6_000; now <= 6_000 + RAISE_EVERY_MS; now += 1_000) rate.noteWaiting(now, true);
    expect(rate.perSecond(16_000)).toBeCloseTo(0.19);
    expect(rate.readyAt(16_000, 'final')).toBeLessThanOrEqual(16_000);
    expect(rate.readyAt(16_000, 'edit')).toBeCloseTo(21_263, 0);
  });

  it.each([1_000, 10_001])('learns nothing about its pace from a wait of %i ms', (waitMs) => {
    const rate = open();
    rate.slowDown(1_000, 999, waitMs);
    expect(rate.perSecond(1_000 + waitMs)).toBe(8);
  });

  it.each([1_001, 10_000])('learns its pace from a wait of %i ms', (waitMs) => {
    const rate = open();
    rate.slowDown(1_000, 999, waitMs);
    expect(rate.perSecond(1_000 + waitMs)).toBeCloseTo(Math.max(0.1, 500 / waitMs));
  });
});
