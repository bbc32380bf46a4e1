/** Threads: one for each question where configured, the posts of forums, and where messages need no mention. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_NAME } from '../../../../channels/discord/question-threads.ts';
import { reportedThreads } from '../../../../channels/discord/receiving/events.ts';
import { edits } from '../../../fakes/discord/acts.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import type { SayOptions } from '../../../fakes/discord/say.ts';
import { INTENT } from '../../../fakes/discord/gateway/gateway-frames.ts';
import { channelJson, threadOfGuildJson } from '../../../fakes/discord/json.ts';
import { openThread, posts } from '../../../fakes/discord/threads.ts';
import type { FakeChannel, FakeMessage, FakePerson } from '../../../fakes/discord/platform.ts';
import type { InboundMessage } from '../../../../src/protocol/message.ts';

const WAIT = { timeout: 5_000, interval: 5 };
const MENTION = { mention: true };

describe('threads on Discord', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let ada: FakePerson;

  beforeEach(async () => {
    setup = await DiscordSetup.open({ settings: { threads: { all: true } } });
    room = setup.discord.platform.addChannel(0);
    ada = setup.discord.person('Ada');
    await setup.start();
  });
  afterEach(async () => {
    await setup.close();
  });

  const arrived = async (content: string): Promise<InboundMessage> =>
    await vi.waitFor(() => {
      const message = setup.received.findLast((one) => one.content === content);
      if (message === undefined) throw new Error(`"${content}" has not arrived`);
      return message;
    }, WAIT);

  async function heard(
    channel: FakeChannel,
    text: string,
    options: SayOptions = {},
    from = ada,
  ): Promise<{ said: FakeMessage; message: InboundMessage }> {
    const said = setup.discord.says(channel, text, from, options);
    return { said, message: await arrived(text) };
  }

  it('are opened for a question in a channel, named by its first line, and need no mention inside', async () => {
    const { said, message } = await heard(room, `why?\n${'so '.repeat(50)}`, MENTION);
    expect(message).toMatchObject({ chatId: room.id, threadId: said.id, messageId: said.id });
    const thread = setup.discord.platform.channel(said.id);
    expect(thread).toMatchObject({ name: 'why?', parentId: room.id });
    const inside = await heard(thread, 'and then?');
    expect(inside.message).toMatchObject({ chatId: room.id, threadId: thread.id, mentioned: true });
    const bot = setup.discord.person('Other');
    expect((await heard(thread, 'beep', {}, { ...bot, bot: true })).message.mentioned).toBe(false);
  });

  it('have a name of at most 100 characters, even for a question without words', async () => {
    const long = 'x'.repeat(MAX_NAME + 1);
    const { said } = await heard(room, long, MENTION);
    expect(setup.discord.platform.channel(said.id).name).toBe('x'.repeat(MAX_NAME));
    const file = {
      id: '1',
      filename: 'a.png',
      content_type: 'image/png',
      size: 1,
      url: 'https://cdn.example/a',
    };
    const bare = setup.discord.says(room, '', ada, { mention: true, attachments: [file] });
    await vi.waitFor(() => expect(setup.discord.platform.channels.get(bare.id)?.name).toBe('Question'), WAIT);
    await setup.languages.choose(`discord:${ada.id}`, 'de');
    const again = setup.discord.says(room, '', ada, { mention: true, attachments: [file] });
    await vi.waitFor(() => expect(setup.discord.platform.channels.get(again.id)?.name).toBe('Frage'), WAIT);
  });

  it('get the title of their conversation, but not those that users have opened', async () => {
    const { said } = await heard(room, 'why?', MENTION);
    const theirs = openThread(setup.discord.platform, setup.discord.says(room, 'old', ada), ada, 'mine');
    for (const [id, title] of [
      [theirs.id, 'Another'],
      [said.id, 'A good reason'],
    ] as const)
      for (const listener of setup.listeners)
        listener({ type: 'session_titled', title, sessionKey: `discord:${room.id}:${id}`, at: 0 });
    await vi.waitFor(() => expect(setup.discord.platform.channel(said.id).name).toBe('A good reason'), WAIT);
    expect(theirs.name).toBe('mine');
  });

  it('are not opened if the gateway treats a message as something else', async () => {
    setup.opensThreads = false;
    const { said, message } = await heard(room, '/status', MENTION);
    expect(message.threadId).toBeUndefined();
    expect(setup.discord.platform.channels.has(said.id)).toBe(false);
  });

  it('that cannot be opened leave the question in its channel, which is logged', async () => {
    room.noThreads = true;
    const { message } = await heard(room, 'here then', MENTION);
    expect(message.chatId).toBe(room.id);
    expect(message.threadId).toBeUndefined();
    expect(setup.log.join('')).toContain('discord_thread_not_opened');
  });

  it('are found again when the question arrives twice, or its sender edits it', async () => {
    const { said } = await heard(room, 'once', MENTION);
    setup.received.length = 0;
    setup.discord.deliver(said);
    expect(await arrived('once')).toMatchObject({ threadId: said.id });
    edits(setup.discord, said, 'better');
    expect(await arrived('better')).toMatchObject({ threadId: said.id, isEdit: true });
  });

  it('that a user has started from the message are not where it was asked', async () => {
    const said = setup.discord.platform.add(room.id, ada, 'asked', {});
    openThread(setup.discord.platform, said, ada, 'mine');
    setup.discord.deliver(said);
    const message = await arrived('asked');
    expect(message.threadId).toBeUndefined();
  });

  it('are not opened for what was missed: an earlier process may have answered it in the channel', async () => {
    await heard(room, 'before', MENTION);
    setup.connections.chats = [{ address: `discord:${room.id}`, changedAt: Date.now() }];
    await vi.waitFor(() => expect(setup.connections.records.size).toBeGreaterThan(0), WAIT);
    await setup.restart(() => {
      setup.discord.gateway.forgetSessions();
      setup.discord.says(room, 'missed', ada, MENTION);
    });
    expect((await arrived('missed')).threadId).toBeUndefined();
    // The previous one has its thread, and is the same question as before.
    expect(setup.received.filter(({ content }) => content === 'before').at(-1)?.threadId).toBeDefined();
  });

  it('show the reactions to a question at its message in the channel, and answers are not replies to it', async () => {
    const { said, message } = await heard(room, 'why?', MENTION);
    const place = { channel: 'discord', chatId: room.id, threadId: said.id };
    await setup.channel.react?.({ ...place, messageId: said.id, place: 'group' }, 'working');
    expect(said.reactions).toEqual(['👀']);
    await setup.channel.send({ ...setup.part(room.id, 'because'), ...place, replyTo: message.messageId });
    const answer = setup.discord.visible(setup.discord.platform.channel(said.id)).at(-1);
    expect(answer?.content).toBe('because');
    expect(answer?.replyTo).toBeUndefined();
  });

  it('are off by default: they are enabled for all channels or for single ones', async () => {
    await setup.close();
    setup = await DiscordSetup.open();
    room = setup.discord.platform.addChannel(0);
    await setup.start();
    expect((await heard(room, 'plain', MENTION)).message.threadId).toBeUndefined();
    await setup.close();
    const single = await DiscordSetup.open({ settings: { threads: { channels: { '1': true } } } });
    setup = single;
    room = setup.discord.platform.addChannel(0);
    await setup.start();
    expect((await heard(room, 'elsewhere', MENTION)).message.threadId).toBeUndefined();
  });
});

describe('posts of forums', () => {
  let setup: DiscordSetup;
  let forum: FakeChannel;
  let ada: FakePerson;
  let bo: FakePerson;

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    forum = setup.discord.platform.addChannel(15);
    setup.groups = [forum.id];
    ada = setup.discord.person('Ada');
    bo = setup.discord.person('Bo');
    await setup.start();
  });
  afterEach(async () => {
    await setup.close();
  });

  const contentsOf = () => setup.received.map(({ content, mentioned }) => `${content} ${mentioned}`);
  const arrive = async (all: string[]) => await vi.waitFor(() => expect(contentsOf()).toEqual(all), WAIT);

  it('are questions, and the user who asked continues without a mention; others name the bot', async () => {
    const post = posts(setup.discord, forum, 'how?', ada);
    await arrive(['how? true']);
    expect(setup.received[0]).toMatchObject({ chatId: forum.id, threadId: post.id, place: 'group' });
    const thread = setup.discord.platform.channel(post.id);
    setup.discord.says(thread, 'more', ada);
    setup.discord.says(thread, 'me too', bo);
    await arrive(['how? true', 'more true', 'me too false']);
  });

  it('need a mention in a forum that is not itself allowed', async () => {
    setup.groups = [];
    posts(setup.discord, forum, 'how?', ada);
    await arrive(['how? false']);
    expect(setup.received[0]?.mentioned).toBe(false);
  });

  it('show the reactions to their question inside', async () => {
    const post = posts(setup.discord, forum, 'how?', ada);
    const place = { channel: 'discord', chatId: forum.id, threadId: post.id };
    await setup.channel.react?.({ ...place, messageId: post.id, place: 'group' }, 'done');
    expect(post.reactions).toEqual(['✅']);
  });

  it('are read after an outage in which they were written', async () => {
    posts(setup.discord, forum, 'before', ada);
    await arrive(['before true']);
    await vi.waitFor(() => expect([...setup.connections.records.values()][0]?.heardAt).toBeDefined(), WAIT);
    await setup.restart(() => {
      setup.received.length = 0;
      setup.discord.gateway.forgetSessions();
      posts(setup.discord, forum, 'missed', bo);
    });
    await vi.waitFor(() => expect(setup.contents).toContain('missed'), WAIT);
    expect(setup.channel.health().state).toBe('up');
  });
});

describe('threads that Discord announces on its own', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    room = setup.discord.platform.addChannel(0);
  });
  afterEach(async () => {
    await setup.close();
  });

  const tell = (event: string, data: object): void =>
    setup.discord.gateway.dispatch(event, INTENT.guilds, () => data, setup.discord.platform.guildId);
  const asked = (): string[] => setup.discord.rest.calls.filter((call) => call.startsWith('GET /channels'));

  const WAYS: [how: string, way: (thread: FakeChannel) => void, isReported: boolean][] = [
    ['with the server, when the connection begins', () => undefined, true],
    ['as they are opened', () => (setup.discord.tellsOfThreads = true), false],
    ['as they leave the archive', (thread) => tell('THREAD_UPDATE', channelJson(thread)), false],
    [
      'as the bot may read their channel',
      (thread) =>
        tell('THREAD_LIST_SYNC', { guild_id: thread.guildId, threads: [threadOfGuildJson(thread)] }),
      false,
    ],
  ];

  it.each(WAYS)('%s cost no call before their messages arrive', async (_how, way, isOld) => {
    setup.discord.tellsOfThreads = false;
    const open = (): FakeChannel => setup.discord.platform.addThread(room, { ownerId: '7' });
    const old = isOld ? open() : undefined;
    await setup.start();
    const thread = old ?? open();
    way(thread);
    setup.discord.says(thread, 'hello', setup.discord.person('Ada'));
    await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
    expect(setup.received[0]).toMatchObject({ chatId: room.id, threadId: thread.id, place: 'group' });
    expect(asked()).toEqual([]);
  });

  it('are announced while Discord does not answer a request for them, and no one waits any longer', async () => {
    setup.discord.tellsOfThreads = false;
    await setup.start();
    const thread = setup.discord.platform.addThread(room);
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    setup.discord.failure({ kind: 'hold', until, match: /^GET \/channels/ });
    setup.discord.says(thread, 'hello', setup.discord.person('Ada'));
    await vi.waitFor(() => expect(asked()).toHaveLength(1), WAIT);
    tell('THREAD_UPDATE', channelJson(thread));
    await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
    release();
  });

  it('are left out if the event does not name their channel', () => {
    const [id, guild] = ['71', '72'];
    const whole = { id, type: 11, parent_id: '73', owner_id: '74' };
    expect([
      ...reportedThreads('GUILD_CREATE', { id: guild, threads: [{ id: '75', type: 11 }, whole, 7] }),
    ]).toEqual([[id, { place: 'group', guildId: guild, parentId: '73', ownerId: '74' }]]);
    expect(reportedThreads('GUILD_CREATE', { id: guild, unavailable: true }).size).toBe(0);
    expect(reportedThreads('CHANNEL_UPDATE', whole).size).toBe(0);
  });
});
