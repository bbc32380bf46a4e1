/** Edited questions and reactions on Telegram, through a whole gateway. */
import { expect, it, vi } from 'vitest';
import { inEnglish } from '../../../src/protocol/texts/say.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import type { FakeMessage } from '../../fakes/telegram/chats.ts';
import { editsMessage, reacts } from '../../fakes/telegram/people.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const OFFER = inEnglish('edited.offer');

const NAME = `@${FAKE_BOT.username}`;
const file = {
  access: { telegram: { allow: FRIENDS, groups: { '-4301': {}, '-4302': {}, '-4303': {} } } },
};

describeGateway('On Telegram', { telegram: true, file }, (fixture) => {
  const people = FRIENDS.values();
  const someone = (): string => people.next().value ?? '';
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const written = (chat: string, text: string): FakeMessage => {
    const all = [...(fixture().telegram.chats.peek(chat)?.messages.values() ?? [])];
    const found = all.findLast((message) => !message.fromBot && message.text.includes(text));
    if (found === undefined) throw new Error(`nobody wrote ${text} in ${chat}`);
    return found;
  };
  const taken = () => vi.waitFor(() => expect(fixture().telegram.updates.unconfirmed).toBe(0), WAIT);
  const edit = (chat: string, before: string, after: string): number =>
    editsMessage(fixture().telegram, chat, written(chat, before).id, after);

  it('an edit before the turn changes the question, for the model and in the history', async () => {
    const chat = someone();
    fixture().ollama.answer({ text: 'first done', hold: true }, { when: `hold ${chat}` });
    fixture().telegram.says(chat, `hold ${chat}`, chat);
    const call = await fixture().modelCall(`hold ${chat}`);
    fixture().telegram.says(chat, 'what is a zebbra', chat);
    await taken();
    edit(chat, 'zebbra', 'what is a zebra');
    await taken();
    call.release();
    await vi.waitFor(() => expect(screen(chat)).toEqual(['first done', 'echo: what is a zebra']), WAIT);
    const said = (await fixture().messages(`telegram:${chat}`)).map(({ content }) => content);
    expect(said).toContain('what is a zebra');
    expect(said).not.toContain('what is a zebbra');
  });

  it('an edit after the answer offers to ask again, once, and the button asks the newest text once', async () => {
    const chat = someone();
    fixture().telegram.says(chat, 'how old is Mun', chat);
    await vi.waitFor(() => expect(screen(chat)).toEqual(['echo: how old is Mun']), WAIT);
    // Telegram also reports changes that the reader cannot see.
    edit(chat, 'how old', 'how old is Mun');
    edit(chat, 'how old', 'how old is Mon');
    edit(chat, 'how old', 'how old is Moon');
    await taken();
    await vi.waitFor(() => expect(screen(chat)).toEqual(['echo: how old is Mun', OFFER]), WAIT);
    fixture().telegram.press(chat, 'Ask again', chat);
    fixture().telegram.press(chat, 'Ask again', chat);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toBe('echo: how old is Moon'), WAIT);
    await taken();
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat)).toHaveLength(3);
  });

  it('only the user who asked may ask again, and edits and reactions of strangers are ignored', async () => {
    const chat = '-4301';
    fixture().telegram.says(chat, `${NAME} tel me`, '31');
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(1), WAIT);
    edit(chat, 'tel me', `${NAME} tell me`);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toBe(OFFER), WAIT);
    const press = fixture().telegram.press(chat, 'Ask again', '32');
    await vi.waitFor(
      () => expect(fixture().telegram.pressed.answers.get(press)).toContain('Only the person who wrote'),
      WAIT,
    );
    fixture().telegram.says('9301', 'let me in', '9301');
    await vi.waitFor(() => expect(screen('9301')).toHaveLength(1), WAIT);
    edit('9301', 'let me in', 'let me in, please');
    reacts(fixture().telegram, '9301', '9301', { messageId: 1, now: '👎' });
    await taken();
    await fixture().idle('telegram:9301');
    expect(screen('9301')).toHaveLength(1);
  });

  it('a question in a group shows that it is waiting, being worked on, and was answered or failed', async () => {
    const chat = '-4302';
    fixture().ollama.answer({ text: 'one', hold: true }, { when: 'question A' });
    fixture().telegram.says(chat, `${NAME} question A`, '31');
    const call = await fixture().modelCall('question A');
    await vi.waitFor(() => expect(written(chat, 'question A').reaction).toBe('✍'), WAIT);
    fixture().telegram.says(chat, `${NAME} question B`, '32');
    await vi.waitFor(() => expect(written(chat, 'question B').reaction).toBe('👀'), WAIT);
    call.release();
    await vi.waitFor(() => expect(written(chat, 'question A').reaction).toBe('👌'), WAIT);
    await vi.waitFor(() => expect(written(chat, 'question B').reaction).toBe('👌'), WAIT);
    const failure = { kind: 'status', status: 400, error: 'this model is broken' } as const;
    fixture().ollama.answer({ failure }, { when: 'question C', times: Infinity });
    fixture().telegram.says(chat, `${NAME} question C`, '31');
    await vi.waitFor(() => expect(written(chat, 'question C').reaction).toBe('😢'), WAIT);
    const friend = someone();
    fixture().telegram.says(friend, 'in private', friend);
    await vi.waitFor(() => expect(screen(friend)).toEqual(['echo: in private']), WAIT);
    expect(written(friend, 'in private').reactions).toBeUndefined();
  });

  it('👎 at a growing answer stops it, and does nothing at any other message', async () => {
    const { telegram, ollama } = fixture();
    const friend = someone();
    for (const [chat, from] of [
      ['-4303', '31'],
      [friend, friend],
    ] as const) {
      telegram.chats.open(chat).botIsAdmin = true;
      ollama.answer({ text: 'word '.repeat(4_000), perSecond: 20 }, { when: `long ${chat}` });
      telegram.says(chat, `${NAME} long ${chat}`, from);
      const call = await fixture().modelCall(`long ${chat}`);
      await vi.waitFor(() => expect(screen(chat)[0]).toContain('word'), WAIT);
      const [answer] = telegram.messages(chat);
      reacts(telegram, chat, from, { messageId: written(chat, 'long').id, now: '👎' });
      reacts(telegram, chat, from, { messageId: answer?.id ?? 0, now: '👍' });
      await taken();
      expect(telegram.messages(chat).at(-1)?.text).not.toContain('(stopped)');
      reacts(telegram, chat, from, { messageId: answer?.id ?? 0, before: '👍', now: '👎' });
      expect((await call.closed).by).toBe('client');
      await vi.waitFor(() => expect(screen(chat)[0]).toMatch(/\(stopped\)$/), WAIT);
      await fixture().idle(`telegram:${chat}`);
    }
  });
});
