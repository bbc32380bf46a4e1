/** A private chat that shares its conversation with a channel or a thread on Discord, or with a topic on Telegram. */
import { PermissionFlagsBits } from 'discord-api-types/v10';
import { expect, it, vi } from 'vitest';
import { describeGatewayOnEachDatabase, FRIENDS, WAIT } from '../setup.ts';

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

const SETTINGS = {
  telegram: true,
  discord: true,
  file: {
    access: { telegram: { allow: FRIENDS, groups: { [FORUM]: { mention: false } } } },
    limits: { messagesPerMinute: 600, messagesAtOnce: 60 },
    channels: { telegram: { groupCallsPerMinute: 600 } },
  },
};

describeGatewayOnEachDatabase('a group that shares the conversation of a person', SETTINGS, (fixture) => {
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
  const codeOf = async (chat: string): Promise<string> => {
    says(chat, '/link');
    await seen(chat, '/link ');
    return /\/link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(screen(chat))?.[1] ?? '';
  };

  it.each([
    ['a channel on Discord', () => discordGroup(false)],
    ['a thread on Discord', () => discordGroup(true)],
    ['a topic on Telegram', topic],
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
      await seen(chat, `I am waiting for ${group.network} (group chat)`);
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
      await seenIn(group, 'shares this conversation now');

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
      await seenIn(group, `${group.network} (group chat), since`);

      group.member('/unlink');
      await seenIn(group, 'This chat is on its own again');
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
});
