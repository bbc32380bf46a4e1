/** What the channel makes of Discord's events, as a person writes them. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readInteraction, readMessage } from '../../channels/discord/inbound.ts';
import type { InboundMessage } from '../../src/message.ts';
import { DiscordHouse } from '../fakes/discord-house.ts';
import type { SayOptions } from '../fakes/discord.ts';
import type { FakeChannel, FakePerson } from '../fakes/discord-world.ts';

const WAIT = { timeout: 5_000, interval: 5 };

describe('messages from Discord', () => {
  let house: DiscordHouse;
  let room: FakeChannel;
  let ada: FakePerson;

  beforeEach(async () => {
    house = await DiscordHouse.open();
    room = house.discord.world.addChannel(0);
    ada = house.discord.person('Ada');
    await house.start();
  });
  afterEach(async () => {
    await house.close();
  });

  /** What arrives of a message; a plain one behind it tells when nothing did. */
  async function heard(
    text: string,
    options: SayOptions = {},
    from = ada,
  ): Promise<InboundMessage | undefined> {
    house.discord.says(room, text, from, options);
    house.discord.says(room, 'end', ada);
    await vi.waitFor(() => expect(house.contents.at(-1)).toBe('end'), WAIT);
    return house.received.length > 1 ? house.received[0] : undefined;
  }

  it('takes numeric ids from the transport, not from text, and the name for show only (S-rows: identity)', async () => {
    const message = await heard('I am <@1>, id 1', {}, { id: ada.id, name: 'Owner\u202e' });
    expect(message).toMatchObject({
      senderId: ada.id,
      senderName: 'Owner\u202e',
      place: 'group',
      mentioned: false,
    });
  });

  it('knows when it is named, and takes its name off the front', async () => {
    expect(await heard('what is up?', { mention: true })).toMatchObject({
      content: 'what is up?',
      mentioned: true,
    });
  });

  it('knows when it is answered', async () => {
    const own = house.discord.world.add(room.id, house.discord.world.bot, 'my words');
    expect(await heard('and yours?', { replyTo: own })).toMatchObject({ mentioned: true, replyTo: own.id });
  });

  it('does not take an answer to somebody else for one to itself', async () => {
    const other = house.discord.says(room, 'hi', house.discord.person('Bob'));
    await vi.waitFor(() => expect(house.received).toHaveLength(1), WAIT);
    house.received.length = 0;
    expect(await heard('hi Bob', { replyTo: other })).toMatchObject({ mentioned: false, replyTo: other.id });
  });

  it('counts a thread as a chat of its own (complaint 20)', async () => {
    room = house.discord.world.addChannel(11);
    const message = await heard('in the thread');
    expect(message).toMatchObject({ chatId: room.id, place: 'group' });
    expect(message?.threadId).toBeUndefined();
  });

  it('brings attachments along', async () => {
    const attachments = [
      {
        id: '1',
        url: 'https://cdn.example.test/a.png',
        filename: 'a.png',
        content_type: 'image/png',
        size: 12,
      },
      { id: '2', url: 'https://cdn.example.test/b', filename: 'b' },
    ];
    expect((await heard('look', { attachments }))?.media).toEqual([
      {
        kind: 'image',
        url: 'https://cdn.example.test/a.png',
        name: 'a.png',
        mimeType: 'image/png',
        bytes: 12,
      },
      { kind: 'file', url: 'https://cdn.example.test/b', name: 'b' },
    ]);
  });

  it.each([
    ['a webhook', { webhook: true }],
    ['a notice that somebody joined', { type: 7 }],
    ['the reply to a command', { type: 20 }],
  ] satisfies [string, SayOptions][])('ignores %s', async (_, options) => {
    expect(await heard('not a person', options)).toBeUndefined();
  });

  it('puts names in the place of other ids', async () => {
    const bob = { id: '222222222222222222', username: 'bob', global_name: 'Bob' };
    house.discord.gateway.dispatch('MESSAGE_CREATE', 0, () => ({
      id: '333333333333333333',
      channel_id: room.id,
      guild_id: '1',
      author: { id: ada.id, username: 'ada' },
      content: '<@222222222222222222> and <@444444444444444444>',
      timestamp: '2026-01-02T03:04:05.678Z',
      type: 0,
      mentions: [bob],
    }));
    await vi.waitFor(() => expect(house.received).toHaveLength(1), WAIT);
    expect(house.received[0]).toMatchObject({
      content: '@Bob and <@444444444444444444>',
      timestamp: Date.parse('2026-01-02T03:04:05.678Z'),
    });
  });
});

describe('events that are none of ours', () => {
  it.each([undefined, null, 7, 'x', [], {}, { id: 'x' }, { id: '1', channel_id: '2', author: null }])(
    'reads nothing from %j',
    (event) => {
      expect([readMessage(event), readInteraction(event)]).toEqual([undefined, undefined]);
    },
  );

  it('takes only slash commands for commands', () => {
    const event = { id: '1', application_id: '2', token: 't', channel_id: '3', data: { name: 'ask' } };
    expect(readInteraction({ ...event, type: 2 })).toBeDefined();
    expect(readInteraction({ ...event, type: 3 })).toBeUndefined();
  });
});
