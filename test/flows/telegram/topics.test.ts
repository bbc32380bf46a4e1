/** In private chats and groups with topics, each conversation has its own, named by its title. */
import { beforeAll, expect, it, vi } from 'vitest';
import { namesTopic, opensTopic } from '../../fakes/telegram/topics.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';

const people = FRIENDS.values();

describeGateway('topics of private chats', { telegram: true }, (fixture) => {
  beforeAll(async () => {
    fixture().telegram.topics.inPrivate = true;
    // When it starts, the bot asks Telegram who it is.
    await fixture().restart();
  });
  const someone = (): string => people.next().value ?? '';
  const nameOf = (chat: string, topic: number | undefined) =>
    fixture().telegram.topics.names.get(`${chat} ${topic}`);
  /** The topic that the bot opened last. */
  const opened = async (chat: string): Promise<number> => {
    await shown(chat, 'write to me here');
    return (
      fixture()
        .telegram.messages(chat)
        .findLast(({ threadId }) => threadId !== undefined)?.threadId ?? 0
    );
  };
  const says = (chat: string, text: string, threadId?: number): void =>
    void fixture().telegram.says(chat, text, chat, threadId === undefined ? {} : { threadId });
  const shown = async (chat: string, text: string, threadId?: number): Promise<void> =>
    await vi.waitFor(
      () =>
        expect(fixture().telegram.messages(chat)).toContainEqual(
          expect.objectContaining({
            text: expect.stringContaining(text),
            ...(threadId !== undefined && { threadId }),
          }),
        ),
      WAIT,
    );

  it('/new opens a topic with a separate conversation, while the previous one continues', async () => {
    const chat = someone();
    says(chat, `one ${chat}`);
    await shown(chat, `echo: one ${chat}`);
    says(chat, '/new');
    await shown(chat, 'its own topic');
    const topic = await opened(chat);
    expect(nameOf(chat, topic)).toBe('New conversation');
    says(chat, `two ${chat}`, topic);
    await shown(chat, `echo: two ${chat}`, topic);
    const { body } = await fixture().modelCall(`two ${chat}`);
    expect(messagesWithoutNotes(body.messages.slice(1)).map(({ content }) => content)).toEqual([
      `two ${chat}`,
    ]);
    says(chat, `three ${chat}`);
    const later = await fixture().modelCall(`three ${chat}`);
    expect(later.body.messages.map(({ content }) => content)).toContain(`one ${chat}`);
  });

  it('a topic that the bot has opened is named by the title of its conversation', async () => {
    const chat = someone();
    says(chat, '/new');
    await shown(chat, 'its own topic');
    const topic = await opened(chat);
    says(chat, `/title A trip to the sea ${chat}`, topic);
    await vi.waitFor(() => expect(nameOf(chat, topic)).toBe(`A trip to the sea ${chat}`), WAIT);
  });

  it('so is a topic that a user has opened without a name, but none that they have named', async () => {
    const chat = someone();
    const { telegram } = fixture();
    const unnamed = opensTopic(telegram, chat);
    const named = opensTopic(telegram, chat, 'Mine');
    const renamed = opensTopic(telegram, chat);
    namesTopic(telegram, chat, renamed, 'Mine, too');
    for (const topic of [unnamed, named, renamed]) says(chat, `/title Called ${topic}`, topic);
    for (const topic of [unnamed, named, renamed]) await shown(chat, `now called: Called ${topic}`, topic);
    await vi.waitFor(() => expect(nameOf(chat, unnamed)).toBe(`Called ${unnamed}`), WAIT);
    expect([nameOf(chat, named), nameOf(chat, renamed)]).toEqual(['Mine', 'Mine, too']);
  });

  it('/new starts the conversation in place if Telegram opens no topic', async () => {
    const chat = someone();
    const description = 'Bad Request: the chat is not a forum';
    fixture().telegram.failure({ kind: 'status', method: 'createForumTopic', status: 400, description });
    says(chat, '/new');
    await shown(chat, 'This is a new conversation.');
    expect(fixture().telegram.messages(chat)[0]?.threadId).toBeUndefined();
  });
});

const FORUM = '-1004401';
const IN_FORUM = {
  telegram: true,
  file: { access: { telegram: { allow: FRIENDS, groups: { [FORUM]: { mention: false } } } } },
};

describeGateway('topics of a group', IN_FORUM, (fixture) => {
  const member = FRIENDS.at(-1) ?? '';
  const says = (text: string, threadId?: number): void =>
    void fixture().telegram.says(FORUM, text, member, threadId === undefined ? {} : { threadId });
  const shown = async (text: string, threadId?: number): Promise<void> =>
    await vi.waitFor(() => {
      const found = fixture()
        .telegram.messages(FORUM)
        .filter((message) => message.text.includes(text))
        .map((message) => message.threadId);
      expect(found).toContain(threadId);
    }, WAIT);

  it('/new starts in place and explains why if the bot may not manage topics, and opens one if it may', async () => {
    const { telegram } = fixture();
    const group = telegram.chats.open(FORUM, { topics: [] });
    says('/new');
    await shown('This is a new conversation. It starts here: I cannot open topics');
    expect(telegram.topics.names.size).toBe(0);

    group.botIsAdmin = true;
    says('/new');
    await shown('its own topic');
    const [topic = 0] = group.topics;
    await shown('write to me here', topic);
    says('only in the topic', topic);
    // In a group the model reads who said it.
    await shown('only in the topic', topic);
    says('/title A trip to the sea', topic);
    await vi.waitFor(
      () => expect(telegram.topics.names.get(`${FORUM} ${topic}`)).toBe('A trip to the sea'),
      WAIT,
    );
  });

  it('/new does not mention topics in a group that has none', async () => {
    const { telegram } = fixture();
    telegram.chats.open(FORUM).isForum = false;
    // What was said in a topic before may still get its reply there.
    const outsideTopics = () => telegram.messages(FORUM).filter(({ threadId }) => threadId === undefined);
    const before = outsideTopics().length;
    says('/new');
    await vi.waitFor(() => expect(outsideTopics().length).toBe(before + 1), WAIT);
    expect(outsideTopics().at(-1)?.text).toBe('This is a new conversation.');
  });
});
