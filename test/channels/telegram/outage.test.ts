/** Ten minutes without Telegram: every final text appears, once, whatever the outage looks like. Real HTTP, virtual time. */
import { setImmediate as immediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { create } from '../../../channels/telegram/index.ts';
import { RETRY_CAP_MS } from '../../../src/delivery/final/out.ts';
import { campaignSize } from '../../campaign.ts';
import { buildDelivery, HEAD, quiet } from '../../delivery/setup.ts';
import { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import type { Outage } from '../../fakes/telegram/failures.ts';
import { countCalls } from './counted-calls.ts';
import { telegramConfig, telegramDeps } from './setup.ts';

const OUTAGE_MS = 600_000;
const BEGINS_MS = 60_000;
const CALL_MS = 30_000;
const CHATS = campaignSize(64);
const ANSWERS = 4;

/** Duration of the whole test, from the first answer to some after the outage. */
const SPAN_MS = BEGINS_MS + OUTAGE_MS + 60_000;

/** The lane of one chat: its answers in order, each until it is on screen; returns the time of the last one. */
async function runLane(
  gateway: ReturnType<typeof buildDelivery>,
  chatId: string,
  dueMs: number[],
): Promise<number> {
  const { clock, delivery } = gateway;
  for (const [n, at] of dueMs.entries()) {
    await clock.sleep(Math.max(0, at - clock.monotonicMs()));
    const message = { channel: 'telegram', chatId, content: textOf(chatId, n), media: [], buttons: [] };
    const lane = `out:telegram:${chatId}` as const;
    const head = { ...HEAD, lane, payload: { ref: `${chatId}-${n}`, message }, attempts: 0, waitedMs: 0 };
    for (;;) {
      const outcome = await delivery.out.handle({ ...head }, quiet);
      if (outcome.kind === 'finished' || outcome.kind === 'parked') break;
      if (outcome.kind === 'retry') head.attempts += 1;
      if (head.attempts >= (delivery.out.maxAttempts ?? 0)) break;
      if (outcome.kind !== 'released') head.waitedMs += outcome.delayMs ?? 0;
      await clock.sleep(outcome.delayMs ?? 0);
    }
  }
  return clock.monotonicMs();
}

const textOf = (chatId: string, n: number): string => `Answer ${n} of ${chatId}.`;

describe('ten minutes without Telegram', () => {
  it.each(['page', 'cut', 'silence'] satisfies Outage[])(
    '(%s) neither lose nor repeat a final text',
    async (kind) => {
      const fake = await FakeTelegram.start();
      onTestFinished(() => fake.close());
      const gateway = buildDelivery();
      const { clock, delivery } = gateway;
      const calls = countCalls(clock);
      const timing = { callTimeoutMs: CALL_MS, clock: calls.clock };
      gateway.channels.set('telegram', create(telegramConfig(fake.root), telegramDeps(), timing));
      clock.after(BEGINS_MS, () => (fake.outage = kind));
      clock.after(BEGINS_MS + OUTAGE_MS, () => (fake.outage = undefined));

      const chats = Array.from({ length: CHATS }, (_, i) => String(1_000 + i));
      const open = new Set(chats);
      const lanes = chats.map(async (chatId, i) => {
        fake.chats.open(chatId);
        // Spread over the time before, in and after the outage, no two chats alike.
        const due = Array.from({ length: ANSWERS }, (_, n) => ((n + i / CHATS) * SPAN_MS) / ANSWERS);
        return await runLane(gateway, chatId, due).finally(() => open.delete(chatId));
      });
      while (open.size > 0) {
        // Time passes while nothing is in flight, and while the platform is silent.
        if (calls.waiting() > fake.silenced) await immediate();
        else await clock.advance(500);
      }
      const doneMs = Math.max(...(await Promise.all(lanes)));

      for (const chatId of chats)
        expect(fake.screen(chatId)).toEqual(Array.from({ length: ANSWERS }, (_, n) => textOf(chatId, n)));
      expect(gateway.dead).toEqual([]);
      // Only sends that were in flight when the outage began were in doubt.
      expect(delivery.counts().ambiguousSends).toBeLessThanOrEqual(CHATS);
      expect(doneMs).toBeLessThan(SPAN_MS + RETRY_CAP_MS + CALL_MS);
    },
  );
});
