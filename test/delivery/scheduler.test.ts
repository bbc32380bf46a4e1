/** When calls are made: finals first, edits newest-only, never early, never too fast, fair over chats. */
import { afterEach, describe, expect, it } from 'vitest';
import { ChannelError } from '../../src/contracts/errors.ts';
import { CALLS_PER_SECOND, MAX_FINAL_WAIT_MS, Scheduler } from '../../src/delivery/scheduler.ts';
import { MAX_SLOWDOWN, RateLimit, RECOVER_MS } from '../../src/delivery/rate-limit.ts';
import { FakeClock } from '../fakes/clock.ts';
import { buildDelivery, quiet } from './setup.ts';

const clock = new FakeClock();
const made: Scheduler[] = [];

function build(intervalMs = 1_000): Scheduler {
  const scheduler = new Scheduler(clock, () => intervalMs);
  made.push(scheduler);
  return scheduler;
}

/** An edit that notes when it is shown. */
function edit(times: number[], more = false) {
  return {
    show: async () => {
      times.push(clock.monotonicMs());
      return more;
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
      scheduler.requestEdit('1', task);
      await clock.advance(10);
    }
    expect(times.length).toBeGreaterThanOrEqual(9);
    expect(times.length).toBeLessThanOrEqual(11);
  });

  it('makes finals before all edits', async () => {
    const scheduler = build(10);
    const order: string[] = [];
    const endless = (name: string) => ({
      show: async () => {
        order.push(name);
        return true;
      },
    });
    for (let chat = 0; chat < 50; chat++) scheduler.requestEdit(`${chat}`, endless('edit'));
    await clock.advance(1_000);
    order.length = 0;
    const finals = [0, 1, 2].map((chat) =>
      scheduler.final(`final-${chat}`, async () => void order.push('final'), quiet),
    );
    await clock.advance(200);
    await Promise.all(finals);
    expect(order.slice(0, 3)).toEqual(['final', 'final', 'final']);
  });

  it('is fair over chats and stays within the rate of the bot', async () => {
    const scheduler = build(100);
    const counts = new Map<number, number[]>();
    for (let chat = 0; chat < 100; chat++) {
      const times: number[] = [];
      counts.set(chat, times);
      scheduler.requestEdit(`${chat}`, edit(times, true));
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
    scheduler.requestEdit('slow', {
      show: async () => {
        slow.push(clock.monotonicMs() - began);
        if (!refused) {
          refused = true;
          throw new ChannelError('rate_limited', 'slow down', { retryAfterMs: 8_000 });
        }
        return false;
      },
    });
    scheduler.requestEdit('other', edit(other, true));
    await clock.advance(9_000);
    expect(slow).toEqual([0, 8_050]);
    expect(other.length).toBeGreaterThanOrEqual(8);
  });

  it('pauses every chat after a global refusal, and when several chats are refused at once', async () => {
    for (const global of [true, false]) {
      const scheduler = build();
      const began = clock.monotonicMs();
      const refuse = async () => {
        throw new ChannelError('rate_limited', 'slow down', { retryAfterMs: 5_000, global });
      };
      for (const chat of global ? ['a'] : ['a', 'b', 'c']) scheduler.requestEdit(chat, { show: refuse });
      await clock.advance(500);
      const times: number[] = [];
      scheduler.requestEdit('calm', edit(times));
      await clock.advance(20_000);
      expect((times[0] ?? 0) - began).toBeGreaterThanOrEqual(5_000);
    }
  });

  it('gives up a final that was aborted, and one that waited too long', async () => {
    const scheduler = build();
    const stop = new AbortController();
    const refuse = async () => {
      throw new ChannelError('rate_limited', 'slow down', { retryAfterMs: MAX_FINAL_WAIT_MS });
    };
    const waiting = scheduler.final('1', refuse, stop.signal);
    await clock.advance(1_000);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const tooLong = scheduler.final('2', refuse, quiet);
    tooLong.catch(() => undefined);
    await clock.advance(MAX_FINAL_WAIT_MS * 2 + 1_000);
    await expect(tooLong).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: MAX_FINAL_WAIT_MS });
  });

  it('forgets chats without work', async () => {
    const scheduler = build();
    for (let chat = 0; chat < 500; chat++) {
      scheduler.requestEdit(`${chat}`, edit([]));
      await clock.advance(50);
    }
    expect(scheduler.chats).toBeLessThan(40);
  });
});

describe('a rate limit', () => {
  it('slows down with each refusal, up to a bound, and recovers slowly', () => {
    const limit = new RateLimit(100);
    let now = 0;
    for (let i = 0; i < 10; i++) limit.slowDown((now += 10_000), 1_000);
    expect(limit.intervalMs).toBe(100 * MAX_SLOWDOWN);
    for (let i = 0; i < 100; i++) limit.count((now += RECOVER_MS + 1));
    expect(limit.intervalMs).toBe(100);
  });

  it('slows down once for calls that were in flight together', () => {
    const limit = new RateLimit(100);
    for (let i = 0; i < 5; i++) limit.slowDown(i, 1_000);
    expect(limit.intervalMs).toBe(200);
  });
});

describe('100 chats streaming against hidden limits', () => {
  it('delay no final for long and are refused less than once in a hundred calls (budget 9)', async () => {
    // Some chats are slower than declared, and the bot's limit falls under its rate for a while.
    const gateway = buildDelivery({
      editIntervalMs: 1_100,
      latencyMs: 80,
      maxLength: 4_096,
      limits: {
        chatIntervalMs: (chatId) => (Number(chatId) % 20 === 0 ? 2_000 : 250),
        callsPerSecond: () =>
          gateway.clock.monotonicMs() > 90_000 && gateway.clock.monotonicMs() < 120_000 ? 18 : 30,
      },
    });
    const finals: { chat: number; ms: number }[] = [];
    const chats = Array.from({ length: 100 }, (_, chat) => stream(gateway, chat, finals));
    await gateway.clock.advance(400_000);
    await Promise.all(chats);
    const { calls, refused } = gateway.delivery.counts();
    expect(finals).toHaveLength(300);
    expect(Math.max(...finals.map((final) => final.ms))).toBeLessThan(15_000);
    expect(calls).toBeGreaterThan(2_000);
    expect(refused / calls).toBeLessThan(0.01);
    expect(gateway.channel.early).toBe(0);
  });
});

/** Three turns of 25-45 s in one chat, 2 deltas a second, each ended by its final. */
async function stream(
  gateway: ReturnType<typeof buildDelivery>,
  chat: number,
  finals: { chat: number; ms: number }[],
) {
  await gateway.clock.sleep(chat * 100);
  for (const turnId of ['a', 'b', 'c'].map((name) => `${chat}-${name}`)) {
    const turn = gateway.open(turnId, `${chat}`);
    let text = '';
    for (let i = 0; i < 50 + (chat % 40); i++) {
      text += `word${i} `;
      gateway.say(turnId, `word${i} `);
      await gateway.clock.sleep(500);
    }
    await turn.settle();
    const asked = gateway.clock.monotonicMs();
    const message = { channel: 'fake', chatId: `${chat}`, content: text, turnId, media: [], buttons: [] };
    const head = {
      lane: `out:fake:${chat}`,
      node: 'n',
      epoch: 1,
      seq: 1,
      dedupe: turnId,
      attempts: 0,
      crashes: 0,
      stopped: false,
    } as const;
    const outcome = await gateway.delivery.out.handle({ ...head, payload: { ref: turnId, message } }, quiet);
    if (outcome.kind !== 'finished') continue;
    finals.push({ chat, ms: gateway.clock.monotonicMs() - asked });
    expect(gateway.channel.screen(`${chat}`).at(-1)).toBe(text.trim());
  }
}
