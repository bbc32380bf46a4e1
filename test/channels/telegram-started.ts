/** A fake Telegram and a channel that receives from it, closed together after the test. */
import { onTestFinished } from 'vitest';
import { create } from '../../channels/telegram/index.ts';
import type { PollTiming } from '../../channels/telegram/polling.ts';
import type { Channel } from '../../src/channel.ts';
import type { InboundMessage } from '../../src/message.ts';
import type { ChatMove } from '../../src/moves.ts';
import type { Receipt } from '../../src/receive.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram.ts';
import { telegramDeps } from './telegram-setup.ts';

export const ACCEPTED: Receipt = { kind: 'accepted', turnId: 't', seq: 1, position: 0 };
export const WAIT = { timeout: 8_000, interval: 5 };
export async function startFake(port?: number): Promise<FakeTelegram> {
  const fake = await FakeTelegram.start(port === undefined ? {} : { port });
  onTestFinished(() => fake.close());
  return fake;
}

export interface Setup {
  channel: Channel;
  received: string[];
  log: string[];
  /** Chats with a new id, as the house was told of them. */
  moves: ChatMove[];
}

/** A started channel; `take` may refuse a message by throwing. */
export async function startChannel(
  root: string,
  timing: Partial<PollTiming> = {},
  take: (message: InboundMessage) => void | Promise<void> = () => undefined,
): Promise<Setup> {
  const received: string[] = [];
  const log: string[] = [];
  const moves: ChatMove[] = [];
  const config = { token: FAKE_TOKEN, apiRoot: root };
  const channel = create(config, telegramDeps(log, moves), { backoffMs: 5, backoffCapMs: 20, ...timing });
  onTestFinished(() => channel.stop());
  await channel.start(async (message) => {
    await take(message);
    received.push(message.content);
    return ACCEPTED;
  });
  return { channel, received, log, moves };
}
