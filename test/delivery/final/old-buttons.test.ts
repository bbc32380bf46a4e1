/** The button under answers moves with the newest: recorded in the store, and tried a few times at most. */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { SentMessage } from '../../../src/protocol/message.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import { BUTTON_TRIES, MAX_OLD_BUTTONS, createOldButtons } from '../../../src/delivery/final/old-buttons.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import type { Scheduler } from '../../../src/delivery/rate/scheduler.ts';
import { partial } from '../../fakes/partial.ts';
import { silentLog } from '../../database.ts';
import { FakeClock } from '../../fakes/clock.ts';

const HEAD = {} as LaneHead;
const place = (chatId: string) => ({ channel: 'chat', chatId });

function build(remove: (sent: SentMessage) => Promise<void>, isFree = true) {
  const kept = new Map<string, SentMessage[]>();
  const clock = new FakeClock();
  const tried: string[] = [];
  const scheduler = partial<Scheduler>({
    async tryOptional(_target, call) {
      if (!isFree) return true;
      try {
        await call();
        return true;
      } catch (error) {
        return error instanceof ChannelError && error.retryable;
      }
    },
  });
  const ledger = partial<Ledger>({
    sentParts: (ref) => Promise.resolve(kept.get(ref) ?? []),
    noteSent: (_head, ref, sent) => Promise.resolve(void kept.set(ref, sent) as never),
  });
  const buttons = createOldButtons(() => scheduler, ledger, clock, silentLog);
  const channel = {
    name: 'chat',
    removeButtons: (sent: SentMessage) => {
      tried.push(sent.id);
      return remove(sent);
    },
  } as unknown as Channel;
  return { buttons, channel, clock, tried };
}

describe('the buttons of older answers', () => {
  it('are removed once, but not from the answer that still has one', async () => {
    const { buttons, channel, tried } = build(() => Promise.resolve());
    for (const id of ['1', '1', '2', '3']) await buttons.moved(channel, HEAD, place('7'), { id });
    await buttons.moved(channel, HEAD, place('8'), { id: '9' });
    expect(tried).toEqual(['1', '2']);
  });

  it('of replies to commands are told apart by their tokens', async () => {
    const { buttons, channel, tried } = build(() => Promise.resolve());
    for (const token of ['a', 'b'])
      await buttons.moved(channel, HEAD, place('7'), { id: '@', metadata: { token } });
    expect(tried).toEqual(['@']);
  });

  it('are tried again a few times while the platform is busy, and left alone if it refuses', async () => {
    const busy = build(() => Promise.reject(new ChannelError('unavailable', 'busy', { retryable: true })));
    for (const id of ['1', '2']) await busy.buttons.moved(busy.channel, HEAD, place('7'), { id });
    for (let n = 0; n < BUTTON_TRIES + 3; n += 1) await busy.clock.advance(2_000);
    expect(busy.tried).toHaveLength(BUTTON_TRIES);
    const closed = build(() => Promise.reject(new ChannelError('blocked', 'no')));
    for (const id of ['1', '2']) await closed.buttons.moved(closed.channel, HEAD, place('7'), { id });
    await closed.clock.advance(10_000);
    expect(closed.tried).toHaveLength(1);
  });

  it(`wait for at most ${MAX_OLD_BUTTONS} chats at once`, async () => {
    const { buttons, channel, clock } = build(() => Promise.resolve(), false);
    for (let chat = 0; chat <= MAX_OLD_BUTTONS; chat += 1)
      for (const id of ['1', '2']) await buttons.moved(channel, HEAD, place(String(chat)), { id });
    await clock.advance(0);
    expect(clock.waiting).toBe(MAX_OLD_BUTTONS);
    buttons.close();
    expect(clock.waiting).toBe(0);
  });
});
