/** Deleting the deferred reply of a slash command; the channel contract covers ordinary messages. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentMessage } from '../../../../src/protocol/message.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import type { FakeChannel } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 5_000, interval: 5 };

describe('the deferred reply of a slash command', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let shift = 0;

  beforeEach(async () => {
    shift = 0;
    setup = await DiscordSetup.open({ now: () => Date.now() + shift });
    room = setup.discord.platform.addChannel(0);
    await setup.start();
  });
  afterEach(async () => {
    await setup.close();
  });

  /** A deferred reply on screen; more than 3 seconds old, so that Discord knows it for certain. */
  async function deferred(): Promise<SentMessage> {
    setup.discord.slash(room, '/ask', { prompt: 'why?' }, setup.discord.person('Ada'));
    const placeholder = await vi.waitFor(() => {
      const [message] = setup.received;
      if (message?.placeholder === undefined) throw new Error('no command came');
      return message.placeholder;
    }, WAIT);
    await vi.waitFor(() => expect(setup.discord.screen(room)).toHaveLength(1), WAIT);
    shift = 5_000;
    return placeholder;
  }
  const take = (sent: SentMessage) => setup.channel.delete?.(sent, { channel: 'discord', chatId: room.id });

  it('is deleted by its token; twice is fine', async () => {
    const sent = await deferred();
    for (let i = 0; i < 2; i += 1) await take(sent);
    expect(setup.discord.screen(room)).toEqual([]);
  });

  it('is deleted like an ordinary message once the token has expired', async () => {
    const sent = await deferred();
    const known = await setup.channel.edit?.(sent, setup.part(room.id, 'Because'));
    shift = 16 * 60_000;
    await take(known ?? sent);
    expect(setup.discord.screen(room)).toEqual([]);
  });
});
