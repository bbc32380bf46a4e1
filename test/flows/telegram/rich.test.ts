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

  it('show a long answer as one message, and remove the pieces it was cut into while it grew', async () => {
    const person = asks('a long one', words(1_500));
    const messages = await delivered(person, 1);
    expect(messages.map(({ text }) => text)).toEqual([words(1_500)]);
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
  },
);
