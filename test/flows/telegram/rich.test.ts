/**
 * Answers that benefit from it are sent as rich messages; if Telegram refuses one, as before, and it is not tried again
 * there.
 */
import { beforeAll, expect, it, vi } from 'vitest';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const TABLE =
  '| what | a very long heading of a column | another one that is long |\n|--|--|--:|\n| tea | green | 2 |';
const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

describeGateway('rich messages', { telegram: true }, (fixture) => {
  beforeAll(() => {
    fixture().telegram.knowsRich = true;
  });
  const asks = (text: string, answer: string, person = people.next().value ?? ''): string => {
    fixture().ollama.answer({ text: answer, perSecond: 400 }, { when: `${text} ${person}` });
    fixture().telegram.says(person, `${text} ${person}`, person);
    return person;
  };
  const delivered = async (person: string, answers: number) => {
    await vi.waitFor(async () => {
      const stored = await fixture().messages(`telegram:${person}`);
      expect(stored.filter(({ role }) => role === 'assistant')).toHaveLength(answers);
    }, WAIT);
    await fixture().idle(`telegram:${person}`);
    return fixture().telegram.messages(person);
  };

  it('show a table as a table, in the message that has grown', async () => {
    const person = asks('a table', `Here it is:\n\n${TABLE}\n\n${words(60)}`);
    const messages = await delivered(person, 1);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.rich).toMatchObject({ skip_entity_detection: true });
    expect(messages[0]?.text).toContain('| tea | green | 2 |');
  });

  it('show a long answer with a table as one message', async () => {
    const person = asks('a long one', `${words(1_500)}\n\n${TABLE}`);
    const messages = await delivered(person, 1);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.text).toContain(words(1_500));
  });

  it('are not used for an answer that is only long', async () => {
    const messages = await delivered(asks('only long', words(1_500)), 1);
    expect(messages.map(({ rich }) => rich)).toEqual(messages.map(() => undefined));
    expect(messages.map(({ text }) => text).join(' ')).toBe(words(1_500));
  });

  it('are off in a chat after /rich off, until /rich on, while other chats keep them', async () => {
    const { telegram } = fixture();
    const person = people.next().value ?? '';
    const isSaid = (text: string) =>
      vi.waitFor(() => expect(telegram.screen(person).join('\n')).toContain(text), WAIT);
    telegram.says(person, '/rich', person);
    await isSaid('This chat has chosen nothing');
    telegram.says(person, '/rich off', person);
    await isSaid('All answers appear here as ordinary messages');
    asks('a plain table', TABLE, person);
    expect((await delivered(person, 1)).at(-1)?.rich).toBeUndefined();
    expect((await delivered(asks('elsewhere', TABLE), 1)).at(-1)?.rich).toBeDefined();
    telegram.says(person, '/rich on', person);
    await isSaid('appear here as rich messages');
    asks('a rich table', TABLE, person);
    expect((await delivered(person, 2)).at(-1)?.rich).toBeDefined();
  });

  it('leave a short text answer as it was', async () => {
    const person = asks('short', 'Just **words**.');
    const [message] = await delivered(person, 1);
    expect(message?.rich).toBeUndefined();
    expect(message?.text).toBe('Just words.');
  });

  it('fall back to messages of the usual kind if Telegram refuses one, including for the next answers there', async () => {
    const { telegram } = fixture();
    for (const status of [400, 404]) {
      const method = status === 400 ? 'editMessageText' : 'sendRichMessage';
      const person = people.next().value ?? '';
      telegram.says(person, '/stream off', person);
      await vi.waitFor(() => expect(telegram.screen(person)).toHaveLength(1), WAIT);
      telegram.failure({
        kind: 'status',
        method: 'sendRichMessage',
        status,
        description: `Bad Request: RICH ${method}`,
      });
      asks('refused', TABLE, person);
      const first = await delivered(person, 1);
      expect(first.at(-1)?.text).toContain('tea');
      expect(first.at(-1)?.rich).toBeUndefined();
      const calls = telegram.count('sendRichMessage');
      asks('refused again', TABLE, person);
      const second = await delivered(person, 2);
      expect(second).toHaveLength(3);
      expect(telegram.count('sendRichMessage')).toBe(calls);
      expect(second.at(-1)?.rich).toBeUndefined();
    }
  });
});

describeGateway(
  'rich messages that are off',
  {
    telegram: true,
    file: { access: { telegram: { allow: FRIENDS } }, channels: { telegram: { richMessages: 'off' } } },
  },
  (fixture) => {
    it('are never sent', async () => {
      const { telegram, ollama } = fixture();
      telegram.knowsRich = true;
      ollama.answer({ text: TABLE }, { when: 'table please' });
      telegram.says('7001', 'table please', '7001');
      await vi.waitFor(() => expect(telegram.screen('7001').join()).toContain('tea'), WAIT);
      await fixture().idle('telegram:7001');
      expect(telegram.messages('7001')[0]?.rich).toBeUndefined();
    });

    it('are sent in a chat that asks for them', async () => {
      const { telegram, ollama } = fixture();
      ollama.answer({ text: TABLE }, { when: 'rich table please' });
      telegram.says('7002', '/rich on', '7002');
      await vi.waitFor(() => expect(telegram.screen('7002')).toHaveLength(1), WAIT);
      telegram.says('7002', 'rich table please', '7002');
      await vi.waitFor(() => expect(telegram.messages('7002').at(-1)?.rich).toBeDefined(), WAIT);
    });
  },
);
