/** The Discord channel under the contract that every channel passes, and details of sending. */
import { PermissionFlagsBits } from 'discord.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { visibleText } from '../../fakes/discord/markdown.ts';
import { deletes } from '../../fakes/discord/acts.ts';
import { DiscordSetup } from '../../fakes/discord/setup.ts';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import {
  type FakeChannel,
  type FakePerson,
  FLAG_SUPPRESS_EMBEDS,
  Refusal,
} from '../../fakes/discord/platform.ts';

channelContract(
  'discord',
  async () => {
    const setup = await DiscordSetup.open();
    const { discord } = setup;
    const chats = [discord.dm('Ada'), discord.dm('Bob')] as const;
    const contract = chats.map(({ channel, person }) => ({ chatId: channel.id, senderId: person.id }));
    const find = (chatId: string): { channel: FakeChannel; person: FakePerson } =>
      chats.find(({ channel }) => channel.id === chatId) ?? chats[0];
    let last = discord.platform.add(chats[0].channel.id, chats[0].person, 'never sent');
    discord.platform.messages.get(chats[0].channel.id)?.pop();
    return {
      channel: setup.channel,
      chats: [contract[0] ?? { chatId: '', senderId: '' }, contract[1] ?? { chatId: '', senderId: '' }],
      secret: discord.token,
      says(chat, text) {
        const { channel, person } = find(chat.chatId);
        last = discord.says(channel, text, person);
      },
      types(chat, text) {
        const { channel, person } = find(chat.chatId);
        const [, name, mode] = /^\/(\w+)(?: (.+))?$/.exec(text) ?? [];
        if (name === undefined) discord.says(channel, text, person);
        else discord.slash(channel, name, mode === undefined ? {} : { mode }, person);
      },
      screen: (chatId) => discord.screen(find(chatId).channel),
      files: (chatId) =>
        discord
          .visible(find(chatId).channel)
          .flatMap(({ files = [], content }) =>
            files.map(({ name, bytes }) => ({ name, bytes, caption: visibleText(content) })),
          ),
      reads: (text) => ({ visible: visibleText(text), length: text.length }),
      receiving: () => discord.gateway.open,
      redelivers() {
        discord.deliver(last);
      },
      echoes(chat, text, from) {
        const { channel } = find(chat.chatId);
        const author = from === 'self' ? discord.platform.bot : { ...discord.person('Other'), bot: true };
        discord.says(channel, text, author);
      },
      sendsFile(chat, name, bytes) {
        const { channel, person } = find(chat.chatId);
        discord.says(channel, '', person, {
          attachments: [discord.cdn.attachment(channel.id, { name, bytes })],
        });
      },
      deletes: () => deletes(discord, last),
      deleted: () => setup.deleted,
      group() {
        const { platform } = discord;
        const [boss, member] = [discord.person('Boss'), discord.person('Mia')];
        boss.roles = [platform.addRole('Administrators', PermissionFlagsBits.ManageGuild)];
        const owner = discord.person('Owner');
        platform.ownerId = owner.id;
        return {
          chatId: platform.addChannel(0).id,
          administrators: [boss.id, owner.id],
          others: [member.id, platform.newId()],
        };
      },
      failsDownload: (failure) => discord.cdn.failure(failure),
      rateLimits(retryAfterMs) {
        discord.rateLimit(retryAfterMs);
      },
      blocks(chatId) {
        find(chatId).channel.closed = true;
      },
      fails(status) {
        discord.failure({ kind: 'status', status });
      },
      refusesToken() {
        discord.failure({ kind: 'refuse', refusal: new Refusal(401, 0, '401: Unauthorized') });
      },
      losesAnswer() {
        discord.failure({ kind: 'drop', match: /^POST .*messages$/ });
      },
      losesFileAnswer() {
        discord.failure({ kind: 'drop', match: /^POST .*messages$/ });
      },
      close: async () => {
        await setup.close();
      },
    };
  },
  {
    acknowledged: 'Discord has no acknowledgement of messages; gaps are closed from the history instead.',
  },
);

describe('calls to the REST API of Discord', () => {
  let setup: DiscordSetup;
  let channel: FakeChannel;
  beforeEach(async () => {
    setup = await DiscordSetup.open();
    channel = setup.discord.platform.addChannel(0);
  });
  afterEach(async () => {
    await setup.close();
  });

  it('identify the token without a gateway connection', async () => {
    const { bot } = setup.discord.platform;
    expect(await setup.channel.identify?.(AbortSignal.timeout(5_000))).toEqual({
      id: bot.id,
      name: 'parley',
      shards: 1,
    });
    expect(setup.discord.gateway.counts.connections).toBe(0);
  });

  it('ping no one and show no link preview, whatever the model wrote (row 35)', async () => {
    const text = '@everyone @here <@123456789012345678> <@&123456789012345678> https://example.test/x';
    const sent = await setup.channel.send(setup.part(channel.id, text));
    await setup.channel.edit?.(sent, setup.part(channel.id, `${text} again`));
    const [message] = setup.discord.visible(channel);
    expect(message?.pings).toEqual([]);
    expect(message?.flags).toBe(FLAG_SUPPRESS_EMBEDS);
    expect(setup.discord.screen(channel)[0]).toContain('https://example.test/x');
  });

  it('reply to a message, and send without the reply when that message was deleted', async () => {
    const question = setup.discord.says(channel, 'why?', setup.discord.person('Ada'));
    await setup.channel.send({ ...setup.part(channel.id, 'because'), replyTo: question.id });
    await setup.channel.send({ ...setup.part(channel.id, 'still'), replyTo: '111111111111111111' });
    const replies = setup.discord.visible(channel).slice(1);
    expect(replies.map(({ replyTo }) => replyTo?.content)).toEqual(['why?', undefined]);
  });

  it('create one message when the answer was lost and the part is sent again after a restart', async () => {
    const part = setup.part(channel.id, 'once', { nonce: 'outbox-7/0' });
    setup.discord.failure({ kind: 'drop' });
    setup.discord.failure({ kind: 'drop' });
    expect(await failureOf(setup.channel.send(part))).toMatchObject({ code: 'unavailable', retryable: true });
    await setup.channel.send(part);
    expect(setup.discord.screen(channel)).toEqual(['once']);
  });

  it('are not silently repeated when Discord answers 5xx', async () => {
    setup.discord.failure({ kind: 'status', status: 502 });
    expect(await failureOf(setup.channel.send(setup.part(channel.id, 'hi')))).toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
    expect(setup.discord.rest.calls).toHaveLength(1);
  });

  it.each(['user', 'shared', 'global'] as const)(
    'are not made until a 429 of scope %s has passed',
    async (scope) => {
      setup.discord.rateLimit(60_000, scope);
      for (let i = 0; i < 3; i += 1) {
        const failure = await failureOf(setup.channel.send(setup.part(channel.id, `try ${i}`)));
        expect(failure.code).toBe('rate_limited');
        expect(failure.retryAfterMs).toBeGreaterThan(59_000);
      }
      expect(setup.discord.limits).toMatchObject({ refused: 1, early: 0 });
    },
  );

  it('learn hidden limits from the headers and request a wait instead of causing a 429', async () => {
    await setup.close();
    setup = await DiscordSetup.open({ limits: { send: { limit: 5, windowMs: 60_000 } } });
    channel = setup.discord.platform.addChannel(0);
    for (let i = 0; i < 5; i += 1) await setup.channel.send(setup.part(channel.id, `${i}`));
    const failure = await failureOf(setup.channel.send(setup.part(channel.id, 'sixth')));
    expect(failure.code).toBe('rate_limited');
    expect(failure.retryAfterMs).toBeGreaterThan(50_000);
    expect(setup.discord.limits.refused).toBe(0);
  });

  it('stop once the token was refused, so that no storm of 401s follows (reliability 4.5)', async () => {
    await setup.close();
    setup = await DiscordSetup.open({ token: 'MTIz.wrong.token' });
    for (let i = 0; i < 20; i += 1) {
      const failure = await failureOf(setup.channel.send(setup.part('111111111111111111', `${i}`)));
      expect(failure).toMatchObject({ code: 'unauthorized', retryable: true });
      expect(failure.message).toContain('DISCORD_BOT_TOKEN');
    }
    expect(setup.discord.limits.invalid).toBe(2);
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
    [403, 50_013, 'blocked'],
    [400, 50_035, 'rejected'],
    [400, 50_083, 'blocked'],
    [403, 160_005, 'blocked'],
    [400, 200_000, 'rejected'],
    [403, 20_026, 'blocked'],
    [404, 0, 'blocked'],
    [400, 99_999, 'rejected'],
    [400, 20_028, 'rate_limited'],
  ])('turns %i / %i into %s', async (status, code, expected) => {
    setup.discord.failure({ kind: 'refuse', refusal: new Refusal(status, code, 'as told') });
    const failure = await failureOf(setup.channel.send(setup.part(channel.id, 'x')));
    const retryable = expected === 'rate_limited' || [50_001, 50_013, 50_083, 160_005].includes(code);
    expect(failure).toMatchObject({ code: expected, retryable });
  });

  it('turn a missing reply target into place_gone', async () => {
    const refusal = new Refusal(400, 50_035, 'Invalid Form Body', {
      message_reference: {
        _errors: [{ code: 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', message: 'Unknown message' }],
      },
    });
    setup.discord.failure({ kind: 'refuse', refusal });
    expect(await failureOf(setup.channel.send(setup.part(channel.id, 'x')))).toMatchObject({
      code: 'place_gone',
    });
  });

  it.each(['cut', 'html'] as const)('turn a broken answer (%s) into unavailable', async (kind) => {
    for (let i = 0; i < 2; i += 1)
      setup.discord.failure(kind === 'cut' ? { kind } : { kind: 'status', status: 200, body: 'hello' });
    expect(await failureOf(setup.channel.send(setup.part(channel.id, 'x')))).toMatchObject({
      code: 'unavailable',
    });
  });

  it('refuse addresses that are not a channel id', async () => {
    const failure = await failureOf(setup.channel.send(setup.part('1/../../users/@me', 'x')));
    expect(failure.code).toBe('rejected');
    expect(setup.discord.rest.calls).toEqual([]);
  });
});
