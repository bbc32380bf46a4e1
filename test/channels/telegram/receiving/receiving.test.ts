/** Receiving from Telegram besides the messages: menu, health, starts and stops. */
import { describe, expect, it, vi } from 'vitest';
import { COMMANDS } from '../setup.ts';
import { ACCEPTED, startChannel, startFake, WAIT } from '../started.ts';

describe('the Telegram channel', () => {
  it('is up as soon as Telegram answers, without waiting for a message', async () => {
    const fake = await startFake();
    const { channel } = await startChannel(fake.root);
    await vi.waitFor(() => expect(channel.health()).toEqual({ state: 'up' }), WAIT);
  });

  it('receives once when started twice', async () => {
    const fake = await startFake();
    const { channel, received } = await startChannel(fake.root);
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(1), WAIT);
    const second: string[] = [];
    await channel.start((message) => {
      second.push(message.content);
      return Promise.resolve(ACCEPTED);
    });
    for (let i = 0; i < 5; i += 1) {
      fake.says('1', `m${i}`, '1');
      await vi.waitFor(() => expect(second).toHaveLength(i + 1), WAIT);
    }
    expect(received).toEqual([]);
  });

  it('stops in time even if the gateway never commits a message', async () => {
    const fake = await startFake();
    let taking = false;
    const { channel } = await startChannel(fake.root, { lastPublishMs: 20 }, () => {
      taking = true;
      return new Promise(() => undefined);
    });
    fake.says('1', 'unanswered', '1');
    await vi.waitFor(() => expect(taking).toBe(true), WAIT);
    await channel.stop();
    expect(channel.health()).toEqual({ state: 'off' });
    expect(fake.updates.unconfirmed).toBe(1);
  });

  it('aborts the long poll immediately when stopped', async () => {
    const fake = await startFake();
    const { channel } = await startChannel(fake.root);
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(1), WAIT);
    const before = performance.now();
    await channel.stop();
    expect(performance.now() - before).toBeLessThan(500);
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(0), WAIT);
    expect(channel.health()).toEqual({ state: 'off' });
  });

  it('requests only the kinds of updates it handles, and offers the commands of the gateway', async () => {
    const fake = await startFake();
    await startChannel(fake.root);
    const menu = COMMANDS.map(({ name, description }) => ({ command: name, description }));
    await vi.waitFor(() => expect(fake.introduction.commandsOf('default')).toEqual(menu), WAIT);
    await vi.waitFor(() => expect(fake.updates.polls).toBeGreaterThan(0), WAIT);
    expect(fake.last.get('getUpdates')).toMatchObject({
      allowed_updates: [
        'message',
        'edited_message',
        'callback_query',
        'message_reaction',
        'my_chat_member',
        'stopped_message_generation',
      ],
    });
  });

  it('answers every button press, and ignores that an old one can no longer be answered', async () => {
    const fake = await startFake();
    const { received } = await startChannel(fake.root);
    const press = fake.presses('1', '1', 'run it');
    fake.update({ callback_query: { id: 'long ago', from: { id: 1, is_bot: false }, data: 'x' } });
    fake.says('1', 'next', '1');
    await vi.waitFor(() => expect(fake.count('answerCallbackQuery')).toBe(2), WAIT);
    await vi.waitFor(() => expect(received).toEqual(['', 'next']), WAIT);
    expect(fake.pressed.answers.has(press)).toBe(true);
  });
});
