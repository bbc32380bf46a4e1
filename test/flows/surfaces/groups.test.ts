/** A private chat that shares its conversation with a group: a channel, a thread, a topic or a room. */
import { PermissionFlagsBits } from 'discord.js';
import { afterAll, expect, it, vi } from 'vitest';
import { addressOf } from '../../../src/protocol/message.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { FakeSlack, textOf } from '../../fakes/slack/slack.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const FORUM = '-1004303';

/** A chat of several people, one of whom administers it. */
interface Group {
  address: `${string}:${string}`;
  network: string;
  administrator: (text: string) => unknown;
  member: (text: string) => unknown;
  screen: () => string[];
  /** The chat around it, which must not see the conversation. */
  around: () => string[];
}

const slack = await FakeSlack.open();
const matrix = await FakeHomeserver.open();
afterAll(async () => {
  await slack.close();
  await matrix.close();
});

const SETTINGS = {
  env: variablesOf({ slack, matrix }),
  telegram: true,
  discord: true,
  file: {
    access: { telegram: { allow: FRIENDS, groups: { [FORUM]: { mention: false } } } },
    limits: { messagesPerMinute: 600, messagesAtOnce: 60 },
    channels: { telegram: { groupCallsPerMinute: 600 } },
  },
};

describeGateway('a group that shares the conversation of a person', SETTINGS, (fixture) => {
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const says = (chat: string, text: string): unknown => fixture().telegram.says(chat, text, chat);
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const seenIn = (group: Group, text: string): Promise<void> =>
    vi.waitFor(() => expect(group.screen().join('\n')).toContain(text), WAIT);

  const discordGroup = async (isThread: boolean): Promise<Group> => {
    const { discord, store } = fixture();
    const { platform } = discord;
    const channel = platform.addChannel(0);
    await store.access.addGrant('discord', 'group', channel.id);
    const [boss, member] = [discord.person('Boss'), discord.person('Mia')];
    boss.roles = [platform.addRole('Administrators', PermissionFlagsBits.ManageGuild)];
    const thread = isThread ? platform.addThread(channel, { ownerId: boss.id, name: 'A thread' }) : undefined;
    const place = thread ?? channel;
    const neighbour = thread === undefined ? platform.addChannel(0) : channel;
    const own = (id: string): string[] =>
      (platform.messages.get(id) ?? [])
        .filter(({ author }) => author.id === platform.bot.id)
        .map(({ content }) => content);
    return {
      address: thread === undefined ? `discord:${channel.id}` : `discord:${channel.id}:${thread.id}`,
      network: 'Discord',
      administrator: (text) => discord.says(place, text, boss, { mention: true }),
      member: (text) => discord.says(place, text, member, { mention: true }),
      screen: () => own(place.id),
      around: () => own(neighbour.id),
    };
  };
  const topic = (): Promise<Group> => {
    const { telegram } = fixture();
    const forum = telegram.chats.open(FORUM, { topics: [] });
    const threadId = telegram.topics.add(forum, 'A topic');
    telegram.introduction.administrators.add(`${FORUM} 9001`);
    return Promise.resolve({
      address: `telegram:${FORUM}:${threadId}`,
      network: 'Telegram',
      administrator: (text) => telegram.says(FORUM, text, '9001', { threadId }),
      member: (text) => telegram.says(FORUM, text, '9002', { threadId }),
      screen: () =>
        telegram
          .messages(FORUM)
          .filter((message) => message.threadId === threadId)
          .map(({ text }) => text),
      around: () =>
        telegram
          .messages(FORUM)
          .filter((message) => message.threadId !== threadId)
          .map(({ text }) => text),
    });
  };
  const slackThread = async (): Promise<Group> => {
    const { workspace } = slack;
    const chat = workspace.channel();
    await fixture().store.access.addGrant('slack', 'group', chat.id);
    const [creator, member] = [workspace.person('Boss'), workspace.person('Mia')];
    chat.creator = creator.id;
    const { ts } = slack.says(chat, 'a thread', creator);
    const says = (text: string, person = member): unknown =>
      slack.says(chat, `<@${workspace.bot.userId}> ${text}`, person, { threadTs: ts });
    const screen = (inThread: boolean): string[] =>
      slack
        .visible(chat)
        .filter(({ threadTs }) => (threadTs === ts) === inThread)
        .map(textOf);
    return {
      address: `slack:${chat.id}:${ts}`,
      network: 'Slack',
      administrator: (text) => says(text, creator),
      member: (text) => says(text),
      screen: () => screen(true),
      around: () => screen(false),
    };
  };
  const matrixRoom = async (): Promise<Group> => {
    const { rooms } = matrix;
    const [creator, member] = [rooms.person('Boss'), rooms.person('Mia')];
    const [room, other] = [rooms.created(creator), rooms.created(creator)];
    for (const one of [room, other]) rooms.member(one, member, 'join');
    await fixture().store.access.addGrant('matrix', 'group', room.id);
    const says = (text: string, person = member): unknown =>
      matrix.says(room, text.replace(/^\//, '!'), person, { mentions: true });
    return {
      address: addressOf({ channel: 'matrix', chatId: room.id }),
      network: 'Matrix',
      administrator: (text) => says(text, creator),
      member: (text) => says(text),
      screen: () => matrix.screen(room),
      around: () => matrix.screen(other),
    };
  };
  const codeOf = async (chat: string): Promise<string> => {
    says(chat, '/link');
    await seen(chat, '/link ');
    return /\/link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(screen(chat))?.[1] ?? '';
  };

  it.concurrent.each([
    ['a channel on Discord', () => discordGroup(false)],
    ['a thread on Discord', () => discordGroup(true)],
    ['a topic on Telegram', topic],
    ['a thread on Slack', slackThread],
    ['a room on Matrix', matrixRoom],
  ])(
    '%s joins only through its administrator, with the rights of a group, and leaves it again',
    async (_, open) => {
      const chat = people.next().value ?? '';
      await fixture().store.memories.remember(`telegram:${chat}`, {
        key: 'birthday',
        session: `telegram:${chat}`,
        text: 'Their birthday is the third of May.',
        untrusted: false,
      });
      const group = await open();
      const code = await codeOf(chat);
      group.member(`/link ${code}`);
      await seenIn(group, 'Only an owner of this bot or an administrator');
      expect(screen(chat)).not.toContain('has entered the code');
      group.administrator(`/link ${code}`);
      await seenIn(group, 'Everyone in this group will read');
      await seen(chat, 'Everyone in that group will read');
      says(chat, '/link yes');
      await seen(chat, `Waiting for ${group.network} (group chat)`);
      group.member('/link yes');
      await seenIn(group, 'This question is for someone else');
      group.member('/link no');
      await vi.waitFor(
        () =>
          expect(
            group.screen().filter((text) => text.includes('This question is for someone else')),
          ).toHaveLength(2),
        WAIT,
      );
      expect(await fixture().store.surfaces.surface(group.address)).toBeUndefined();
      group.administrator('/link yes');
      await seenIn(group, 'now shares this conversation');

      const [known = '', answered = '', alone = ''] = ['May', 'We know', 'Only you'].map(
        (word) => `${word}, ${chat}.`,
      );
      fixture().ollama.answer({ text: known }, { when: `my birthday ${chat}` });
      fixture().ollama.answer({ text: answered }, { when: `we know ${chat}` });
      fixture().ollama.answer({ text: alone }, { when: `only me ${chat}` });
      says(chat, `when is my birthday ${chat}`);
      const { body } = await fixture().modelCall(`my birthday ${chat}`);
      expect(JSON.stringify(body.messages)).not.toContain('third of May');
      await seenIn(group, `when is my birthday ${chat}`);
      await seenIn(group, known);
      group.member(`we know ${chat}`);
      await seen(chat, `we know ${chat}`);
      await seen(chat, answered);
      group.member('/surfaces');
      await seenIn(group, `${group.network} (group chat`);

      group.member('/unlink');
      await seenIn(group, 'This chat is separate again');
      await seen(chat, 'has left this conversation');
      says(chat, `only me ${chat}`);
      await seen(chat, alone);
      await fixture().idle(group.address);
      expect(group.screen().join('\n')).not.toContain(`only me ${chat}`);
      const again = await fixture().modelCall(`only me ${chat}`);
      expect(JSON.stringify(again.body.messages)).toContain('third of May');
      expect(group.around().join('\n')).not.toContain(chat);
    },
  );

  it('says that it cannot tell who is an administrator, if the platform does not let it know', async () => {
    const group = await slackThread();
    const { scopes } = slack;
    slack.scopes = scopes.filter((scope) => scope !== 'channels:read');
    group.administrator('/link');
    await seenIn(group, 'I cannot tell whether you are an administrator of this group');
    expect(fixture().log.join('\n')).toContain('The bot lacks the scope channels:read');
    slack.scopes = scopes;
  });
});
