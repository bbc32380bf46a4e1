/** When calls are made: finals, first messages, the oldest screens; never for nothing, never early, never too fast. */
import { afterEach, describe, expect, it } from 'vitest';
import { ChannelError, GatewayError } from '../../../src/protocol/errors.ts';
import { type RateLimits, steadyRates } from '../../../src/protocol/delivery.ts';
import { type LiveEdit, MAX_FINAL_WAIT_MS, Scheduler } from '../../../src/delivery/rate/scheduler.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { quiet } from '../setup.ts';

const clock = new FakeClock();
const made: Scheduler[] = [];

const CALLS_PER_SECOND = 25;

function build(intervalMs = 1_000, isLeased = () => true, rates: Partial<RateLimits> = {}): Scheduler {
  const steady = steadyRates({ callsPerSecond: CALLS_PER_SECOND, editIntervalMs: intervalMs });
  const scheduler = new Scheduler(clock, { ...steady, ...rates }, isLeased);
  made.push(scheduler);
  return scheduler;
}

const at = (chatId: string) => ({ place: { channel: 'fake', chatId } });

/** An edit of a message that has been on screen since `shownAt`, and what showing it does. */
function live(shownAt: number | undefined, show: LiveEdit['show']): LiveEdit {
  return { shownAt, show };
}

/** An edit that records when it is shown. */
function edit(times: number[], more = false): LiveEdit {
  return {
    get shownAt() {
      return times.at(-1) ?? 0;
    },
    show: async () => {
      times.push(clock.monotonicMs());
      return more ? 'more' : 'shown';
    },
  };
}

afterEach(async () => {
  for (const scheduler of made.splice(0)) scheduler.close();
  await clock.advance(1);
  if (clock.waiting > 0) throw new Error('a scheduler left its timer running');
});

describe('the scheduler', () => {
  it('edits a chat at most once per interval, however many edits are requested', async () => {
    const scheduler = build();
    const times: number[] = [];
    const task = edit(times);
    for (let i = 0; i < 1_000; i++) {
      scheduler.requestEdit(at('1'), task);
      await clock.advance(10);
    }
    expect(times.length).toBeGreaterThanOrEqual(9);
    expect(times.length).toBeLessThanOrEqual(11);
  });

  it('shows nothing more once another node may hold the lanes, and resumes when it has them again', async () => {
    let leased = true;
    const scheduler = build(1_000, () => leased);
    const times: number[] = [];
    scheduler.requestEdit(at('1'), edit(times, true));
    scheduler.requestEdit(at('2'), edit(times, true));
    await clock.advance(10);
    expect(times).toHaveLength(2);
    leased = false;
    const stopped = new AbortController();
    const final = scheduler.final(at('3'), async () => times.push(-1), stopped.signal);
    await clock.advance(5_000);
    expect(await scheduler.tryOptional(at('4'), async () => void times.push(-2))).toBe(true);
    expect(times).toHaveLength(2);
    stopped.abort(new GatewayError('lease_lost', 'lost'));
    await expect(final).rejects.toMatchObject({ code: 'lease_lost' });
    leased = true;
    await clock.advance(500);
    expect(times).toHaveLength(4);
  });

  it('makes finals first, then first messages, then the edit of the oldest screen', async () => {
    const scheduler = build(10);
    const order: string[] = [];
    const named = (name: string, shownAt?: number) =>
      live(shownAt, async () => {
        order.push(name);
        return 'shown';
      });
    // Two calls fill the bot's bucket; all others wait their turn.
    for (const chat of ['a', 'b']) scheduler.requestEdit(at(chat), named('before', 0));
    scheduler.requestEdit(at('young'), named('young', 30));
    scheduler.requestEdit(at('old'), named('old', 10));
    scheduler.requestEdit(at('second'), named('second'));
    scheduler.requestEdit(at('third'), named('third'));
    const final = scheduler.final(at('final'), async () => void order.push('final'), quiet);
    await clock.advance(1_000);
    await final;
    expect(order).toEqual(['before', 'before', 'final', 'second', 'third', 'old', 'young']);
  });

  it('spends nothing on an edit that has nothing to show', async () => {
    const scheduler = build(1_000);
    const began = clock.monotonicMs();
    const times: number[] = [];
    for (let i = 0; i < 100; i++)
      scheduler.requestEdit(
        at('1'),
        live(0, async () => 'nothing'),
      );
    await clock.advance(0);
    scheduler.requestEdit(at('1'), edit(times));
    for (let chat = 0; chat < 50; chat++)
      scheduler.requestEdit(
        at(`x${chat}`),
        live(0, async () => 'nothing'),
      );
    scheduler.requestEdit(at('2'), edit(times));
    await clock.advance(1);
    expect([times, scheduler.counts.calls]).toEqual([[began, began], 2]);
  });

  it('leaves 40 % of the rate to finals while one waits for its chat', async () => {
    const steady = steadyRates({ callsPerSecond: CALLS_PER_SECOND, editIntervalMs: 100 });
    const scheduler = build(100, undefined, {
      of: (place) => ({
        ...steady.of(place, undefined),
        ...(place.chatId === 'final' && { editIntervalMs: 900 }),
      }),
    });
    const edits: number[] = [];
    for (let chat = 0; chat < 50; chat++) scheduler.requestEdit(at(`${chat}`), edit(edits, true));
    await clock.advance(2_000);
    // Two go at once, the third when its chat takes it.
    const finals = [1, 2, 3].map(() => scheduler.final(at('final'), async () => undefined, quiet));
    const before = edits.length;
    await clock.advance(900);
    expect(edits.length - before).toBeLessThanOrEqual(CALLS_PER_SECOND * 0.6 * 0.9 + 1);
    expect(edits.length - before).toBeGreaterThan(10);
    await clock.advance(1_000);
    await Promise.all(finals);
  });

  it("is fair across chats and stays within the bot's rate", async () => {
    const scheduler = build(100);
    const counts = new Map<number, number[]>();
    for (let chat = 0; chat < 100; chat++) {
      const times: number[] = [];
      counts.set(chat, times);
      scheduler.requestEdit(at(`${chat}`), edit(times, true));
    }
    await clock.advance(40_000);
    const shown = [...counts.values()].map((times) => times.length);
    expect(Math.max(...shown) - Math.min(...shown)).toBeLessThanOrEqual(1);
    expect(shown.reduce((a, b) => a + b)).toBeLessThanOrEqual(40 * CALLS_PER_SECOND + 10);
  });

  it('pauses only the chat that was refused', async () => {
    const scheduler = build();
    const other: number[] = [];
    let refused = false;
    const slow: number[] = [];
    const began = clock.monotonicMs();
    scheduler.requestEdit(at('slow'), {
      shownAt: 0,
      show: async () => {
        slow.push(clock.monotonicMs() - began);
        if (!refused) {
          refused = true;
          throw new ChannelError('rate_limited', 'slow down', { retryAfterMs: 8_000 });
        }
        return 'shown';
      },
    });
    scheduler.requestEdit(at('other'), edit(other, true));
    await clock.advance(9_000);
    expect(slow).toEqual([0, 8_050]);
    expect(other.length).toBeGreaterThanOrEqual(8);
  });

  it('stops for a refusal of the whole bot, and calls no chat during its pause', async () => {
    const scheduler = build();
    const began = clock.monotonicMs();
    const refusal = new ChannelError('rate_limited', 'slow down', { retryAfterMs: 5_000, global: true });
    scheduler.requestEdit(
      at('a'),
      live(0, () => Promise.reject(refusal)),
    );
    await clock.advance(500);
    const times: number[] = [];
    scheduler.requestEdit(at('calm'), edit(times));
    await clock.advance(20_000);
    expect((times[0] ?? 0) - began).toBeGreaterThanOrEqual(5_000);
  });

  it('lets a healthy chat through while others are refused', async () => {
    const scheduler = build();
    const refusal = new ChannelError('rate_limited', 'slow down', { retryAfterMs: 20_000 });
    for (const chat of ['a', 'b', 'c', 'd'])
      scheduler.requestEdit(
        at(chat),
        live(undefined, () => Promise.reject(refusal)),
      );
    await clock.advance(500);
    const times: number[] = [];
    const asked = clock.monotonicMs();
    scheduler.requestEdit(at('healthy'), edit(times));
    await clock.advance(1_000);
    expect(times).toEqual([asked]);
  });

  it('treats a limit that the platform had announced as a pause of its place, not as a refusal', async () => {
    const scheduler = build();
    const began = clock.monotonicMs();
    const times: number[] = [];
    const announced = new ChannelError('rate_limited', 'wait', { retryAfterMs: 2_000, local: true });
    let first = true;
    scheduler.requestEdit(
      at('1'),
      live(0, async () => {
        times.push(clock.monotonicMs() - began);
        if (!first) return 'more';
        first = false;
        throw announced;
      }),
    );
    await clock.advance(4_500);
    expect([times, scheduler.counts.refused]).toEqual([[0, 2_050, 3_050, 4_050], 0]);
  });

  it('does not count calls against the bot that the platform does not count', async () => {
    const steady = steadyRates({ callsPerSecond: 1, editIntervalMs: 1_000 });
    const scheduler = build(1_000, undefined, {
      ...steady,
      of: (place) => ({ ...steady.of(place, undefined), countsForBot: place.chatId === 'counted' }),
    });
    const times: number[] = [];
    for (let chat = 0; chat < 20; chat++) scheduler.requestEdit(at(`free-${chat}`), edit(times));
    scheduler.requestEdit(at('counted'), edit(times));
    await clock.advance(1);
    expect(times).toHaveLength(21);
  });

  it('gives up a final that was aborted, and one that waited too long', async () => {
    const scheduler = build();
    const stop = new AbortController();
    const refuse = async () => {
      throw new ChannelError('rate_limited', 'slow down', { retryAfterMs: MAX_FINAL_WAIT_MS });
    };
    const waiting = scheduler.final(at('1'), refuse, stop.signal);
    await clock.advance(1_000);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const tooLong = scheduler.final(at('2'), refuse, quiet);
    tooLong.catch(() => undefined);
    await clock.advance(MAX_FINAL_WAIT_MS * 2 + 1_000);
    await expect(tooLong).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: MAX_FINAL_WAIT_MS });
  });

  it('forgets chats without work', async () => {
    const scheduler = build();
    for (let chat = 0; chat < 500; chat++) {
      scheduler.requestEdit(at(`${chat}`), edit([]));
      await clock.advance(50);
    }
    expect(scheduler.places).toBeLessThan(40);
  });
});
