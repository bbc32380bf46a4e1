/** The Discord channel under the suite that every channel passes, and the smaller facts of its sending. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { visibleText } from '../../fakes/discord/markdown.ts';
import { DiscordHouse, failureOf } from '../../fakes/discord/setup.ts';
import { FLAG_SUPPRESS_EMBEDS, Refusal } from '../../fakes/discord/world.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/world.ts';

channelContract(
  'discord',
  async () => {
    const house = await DiscordHouse.open();
    const { discord } = house;
    const chats = [discord.dm('Ada'), discord.dm('Bob')] as const;
    const contract = chats.map(({ channel, person }) => ({ chatId: channel.id, senderId: person.id }));
    const find = (chatId: string): { channel: FakeChannel; person: FakePerson } =>
      chats.find(({ channel }) => channel.id === chatId) ?? chats[0];
    let last = discord.world.add(chats[0].channel.id, chats[0].person, 'never sent');
    discord.world.messages.get(chats[0].channel.id)?.pop();
    return {
      channel: house.channel,
      chats: [contract[0] ?? { chatId: '', senderId: '' }, contract[1] ?? { chatId: '', senderId: '' }],
      secret: discord.token,
      says(chat, text) {
        const { channel, person } = find(chat.chatId);
        last = discord.says(channel, text, person);
      },
      screen: (chatId) => discord.screen(find(chatId).channel),
      reads: (text) => ({ visible: visibleText(text), length: text.length }),
      receiving: () => discord.gateway.open,
      redelivers() {
        discord.deliver(last);
      },
      echoes(chat, text, from) {
        const { channel } = find(chat.chatId);
        const author = from === 'self' ? discord.world.bot : { ...discord.person('Other'), bot: true };
        discord.says(channel, text, author);
      },
      rateLimits(retryAfterMs) {
        discord.rateLimit(retryAfterMs);
      },
      blocks(chatId) {
        find(chatId).channel.closed = true;
      },
      losesAnswer() {
        discord.fault({ kind: 'drop', match: /^POST .*messages$/ });
      },
      close: async () => {
        await house.close();
      },
    };
  },
  {
    acknowledged:
      'Discord never hears whether a message was taken; gaps are closed from the history instead.',
  },
);

describe('what Discord sends by REST', () => {
  let house: DiscordHouse;
  let channel: FakeChannel;
  beforeEach(async () => {
    house = await DiscordHouse.open();
    channel = house.discord.world.addChannel(0);
  });
  afterEach(async () => {
    await house.close();
  });

  it('says who the token belongs to without opening the gateway', async () => {
    const { bot } = house.discord.world;
    expect(await house.channel.identify?.(AbortSignal.timeout(5_000))).toEqual({
      id: bot.id,
      name: 'parley',
    });
    expect(house.discord.gateway.counts.connections).toBe(0);
  });

  it('pings nobody and unfolds no link, whatever a model wrote (row 35)', async () => {
    const text = '@everyone @here <@123456789012345678> <@&123456789012345678> https://example.test/x';
    const sent = await house.channel.send(house.part(channel.id, text));
    await house.channel.edit?.(sent, house.part(channel.id, `${text} again`));
    const [message] = house.discord.visible(channel);
    expect(message?.pings).toEqual([]);
    expect(message?.flags).toBe(FLAG_SUPPRESS_EMBEDS);
    expect(house.discord.screen(channel)[0]).toContain('https://example.test/x');
  });

  it('answers under a message, and without one when that is gone', async () => {
    const question = house.discord.says(channel, 'why?', house.discord.person('Ada'));
    await house.channel.send({ ...house.part(channel.id, 'because'), replyTo: question.id });
    await house.channel.send({ ...house.part(channel.id, 'still'), replyTo: '111111111111111111' });
    const replies = house.discord.visible(channel).slice(1);
    expect(replies.map(({ replyTo }) => replyTo?.content)).toEqual(['why?', undefined]);
  });

  it('shows one message when the answer was lost and the part is sent again after a restart', async () => {
    const part = house.part(channel.id, 'once', 'outbox-7/0');
    house.discord.fault({ kind: 'drop' });
    house.discord.fault({ kind: 'drop' });
    expect(await failureOf(house.channel.send(part))).toMatchObject({ code: 'unavailable', retryable: true });
    await house.channel.send(part);
    expect(house.discord.screen(channel)).toEqual(['once']);
  });

  it('repeats nothing in hiding when Discord answers 5xx', async () => {
    house.discord.fault({ kind: 'status', status: 502 });
    expect(await failureOf(house.channel.send(house.part(channel.id, 'hi')))).toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
    expect(house.discord.rest.calls).toHaveLength(1);
  });

  it.each(['user', 'shared', 'global'] as const)(
    'makes no call before a 429 of scope %s has passed',
    async (scope) => {
      house.discord.rateLimit(60_000, scope);
      for (let i = 0; i < 3; i += 1) {
        const failure = await failureOf(house.channel.send(house.part(channel.id, `try ${i}`)));
        expect(failure.code).toBe('rate_limited');
        expect(failure.retryAfterMs).toBeGreaterThan(59_000);
      }
      expect(house.discord.limits).toMatchObject({ refused: 1, early: 0 });
    },
  );

  it('learns hidden limits from the headers and asks for the wait instead of meeting a 429', async () => {
    await house.close();
    house = await DiscordHouse.open({ limits: { send: { limit: 5, windowMs: 60_000 } } });
    channel = house.discord.world.addChannel(0);
    for (let i = 0; i < 5; i += 1) await house.channel.send(house.part(channel.id, `${i}`));
    const failure = await failureOf(house.channel.send(house.part(channel.id, 'sixth')));
    expect(failure.code).toBe('rate_limited');
    expect(failure.retryAfterMs).toBeGreaterThan(50_000);
    expect(house.discord.limits.refused).toBe(0);
  });

  it('stops calling with a token that was refused (reliability 4.5: no 401 storm)', async () => {
    await house.close();
    house = await DiscordHouse.open({ token: 'MTIz.wrong.token' });
    for (let i = 0; i < 20; i += 1) {
      const failure = await failureOf(house.channel.send(house.part('111111111111111111', `${i}`)));
      expect(failure).toMatchObject({ code: 'unauthorized', retryable: false });
      expect(failure.message).toContain('DISCORD_BOT_TOKEN');
    }
    expect(house.discord.limits.invalid).toBe(1);
  });

  it.each([
    [404, 10_003, 'blocked'],
    [404, 10_008, 'message_gone'],
    [404, 10_015, 'message_gone'],
    [404, 10_062, 'message_gone'],
    [400, 40_060, 'rejected'],
    [403, 50_001, 'blocked'],
    [403, 50_005, 'message_gone'],
    [400, 50_006, 'rejected'],
    [403, 50_007, 'blocked'],
    [403, 50_013, 'rejected'],
    [400, 50_035, 'rejected'],
    [400, 50_083, 'rejected'],
    [400, 20_028, 'rate_limited'],
  ])('turns %i / %i into %s', async (status, code, expected) => {
    house.discord.fault({ kind: 'refuse', refusal: new Refusal(status, code, 'as told') });
    const failure = await failureOf(house.channel.send(house.part(channel.id, 'x')));
    expect(failure).toMatchObject({ code: expected, retryable: expected === 'rate_limited' });
  });

  it('turns a missing reply target into place_gone', async () => {
    const refusal = new Refusal(400, 50_035, 'Invalid Form Body', {
      message_reference: {
        _errors: [{ code: 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', message: 'Unknown message' }],
      },
    });
    house.discord.fault({ kind: 'refuse', refusal });
    expect(await failureOf(house.channel.send(house.part(channel.id, 'x')))).toMatchObject({
      code: 'place_gone',
    });
  });

  it.each(['cut', 'html'] as const)('calls a broken answer (%s) unavailable', async (kind) => {
    for (let i = 0; i < 2; i += 1)
      house.discord.fault(kind === 'cut' ? { kind } : { kind: 'status', status: 200, body: 'hello' });
    expect(await failureOf(house.channel.send(house.part(channel.id, 'x')))).toMatchObject({
      code: 'unavailable',
    });
  });

  it('sends to no address that is not a channel id', async () => {
    const failure = await failureOf(house.channel.send(house.part('1/../../users/@me', 'x')));
    expect(failure.code).toBe('rejected');
    expect(house.discord.rest.calls).toEqual([]);
  });
});
