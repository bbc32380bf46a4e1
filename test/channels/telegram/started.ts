/** A fake Telegram and a channel that receives from it, closed together after the test. */
import { onTestFinished } from 'vitest';
import { create } from '../../../channels/telegram/index.ts';
import type { PollTiming } from '../../../channels/telegram/receiving/receiving.ts';
import type { Channel } from '../../../src/protocol/channel.ts';
import type { InboundMessage, ChatMigration } from '../../../src/protocol/message.ts';
import type { Receipt } from '../../../src/protocol/receive.ts';
import { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { telegramConfig, telegramDeps } from './setup.ts';

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
  /** Chats with a new id, as reported to the gateway. */
  moves: ChatMigration[];
}

/** A started channel; `commit` may refuse a message by throwing. */
export async function startChannel(
  root: string,
  timing: Partial<PollTiming> = {},
  commit: (message: InboundMessage) => void | Promise<void> = () => undefined,
): Promise<Setup> {
  const received: string[] = [];
  const log: string[] = [];
  const moves: ChatMigration[] = [];
  const config = telegramConfig(root);
  const channel = create(config, telegramDeps(log, moves), { backoffMs: 5, backoffCapMs: 20, ...timing });
  onTestFinished(() => channel.stop());
  await channel.start(async (message) => {
    await commit(message);
    received.push(message.content);
    return ACCEPTED;
  });
  return { channel, received, log, moves };
}
