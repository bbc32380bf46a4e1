/** Answers as drafts, as growing messages, or only whole: what each chat has chosen with `/stream`. */
import { expect, it, vi } from 'vitest';
import type { Answer } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');
const file = {
  access: { telegram: { allow: FRIENDS, groups: { '-1005': { mention: false } } } },
  channels: { telegram: { draftIntervalMs: 100, editIntervalMs: { private: 100, group: 100 } } },
};

describeGateway('the way in which answers appear', { telegram: true, file }, (fixture) => {
  /** A user who has chosen a way; undefined = none. */
  const someone = async (mode?: string): Promise<string> => {
    const person = people.next().value ?? '';
    if (mode === undefined) return person;
    fixture().telegram.says(person, `/stream ${mode}`, person);
    await vi.waitFor(
      () => expect(fixture().telegram.screen(person).join()).toContain('From the next answer on'),
      WAIT,
    );
    return person;
  };
  const asks = (person: string, text: string, answer: Answer): void => {
    fixture().ollama.answer(answer, { when: `${text} ${person}` });
    fixture().telegram.says(person, `${text} ${person}`, person);
  };
  const answersOf = (person: string) =>
    fixture()
      .telegram.messages(person)
      .filter(({ text }) => !text.startsWith('From the next'));

  /** Asks for 60 words, of which the model writes the last ones only after `isShown` has held for the first ones. */
  const asksInTwoParts = async (person: string, text: string, isShown: () => boolean): Promise<void> => {
    asks(person, text, { text: words(60), failure: { kind: 'hang', after: 40 } });
    await vi.waitFor(() => expect(isShown()).toBe(true), WAIT);
    (await fixture().modelCall(`${text} ${person}`)).release();
  };
  /** The first part of the 60 words, as it is on screen. */
  const FIRST_PART = /^word0 .*word3\d$/;

  it.concurrent('is a growing draft, replaced by one message with the whole answer', async () => {
    const { telegram } = fixture();
    const person = await someone('draft');
    await asksInTwoParts(person, 'draft it', () => FIRST_PART.test(telegram.drafts.now(person)?.text ?? ''));
    await vi.waitFor(() => expect(answersOf(person)).toHaveLength(1), WAIT);
    await fixture().idle(`telegram:${person}`);
    const [answer] = answersOf(person);
    expect(answer?.shown).toEqual([words(60)]);
    const drafts = telegram.drafts.shown(person);
    expect(new Set(drafts.map(({ draftId }) => draftId)).size).toBe(1);
    for (const { text } of drafts) expect(words(60).startsWith(text)).toBe(true);
    expect(telegram.drafts.now(person)).toBeUndefined();
  });

  it.concurrent('is a draft whose button stops the answer', async () => {
    const { telegram } = fixture();
    const person = await someone('draft');
    asks(person, 'stop the draft', { text: words(400), perSecond: 30 });
    await vi.waitFor(() => expect(telegram.drafts.now(person)?.text).toMatch(/word3/), WAIT);
    const call = await fixture().modelCall(`stop the draft ${person}`);
    telegram.stopsDraft(person);
    expect((await call.closed).by).toBe('client');
    await vi.waitFor(() => expect(telegram.screen(person).join()).toContain('Stopped'), WAIT);
    await fixture().idle(`telegram:${person}`);
    expect(telegram.drafts.now(person)).toBeUndefined();
  });

  it.concurrent('shows the end of a long answer as a draft, and all of it as messages', async () => {
    const { telegram } = fixture();
    const person = await someone('draft');
    // The end waits until a draft has shown what is beyond the first message.
    const failure = { kind: 'hang', after: 1_100 } as const;
    asks(person, 'a long one', { text: words(1_200), perSecond: 200, failure });
    const isBeyond = ({ text }: { text: string }): boolean => /^word[1-9]/.test(text);
    await vi.waitFor(() => expect(telegram.drafts.shown(person).some(isBeyond)).toBe(true), WAIT);
    (await fixture().modelCall(`a long one ${person}`)).release();
    await vi.waitFor(() => expect(answersOf(person).length).toBeGreaterThan(1), WAIT);
    await fixture().idle(`telegram:${person}`);
    expect(
      answersOf(person)
        .map(({ text }) => text)
        .join(' '),
    ).toBe(words(1_200));
  });

  it('is "Thinking…" before the first word, and only the answer stays on screen when the gateway ends in the middle', async () => {
    const { telegram } = fixture();
    const person = await someone('draft');
    fixture().ollama.answer({ text: 'first try', hold: true }, { when: `go on ${person}` });
    telegram.says(person, `go on ${person}`, person);
    await fixture().modelCall(`go on ${person}`);
    await vi.waitFor(() => expect(telegram.drafts.now(person)?.text).toBe(''), WAIT);
    fixture().ollama.answer({ text: 'whole answer' }, { when: `go on ${person}` });
    await fixture().restart();
    await vi.waitFor(() => expect(answersOf(person).map(({ text }) => text)).toEqual(['whole answer']), WAIT);
  });

  it.concurrent('is only the whole answer if streaming is off, with typing before', async () => {
    const { telegram } = fixture();
    const person = await someone('off');
    // Longer than typing has to wait after the chat has just been written to.
    asks(person, 'say it at once', { text: words(60), perSecond: 10 });
    await vi.waitFor(() => expect(answersOf(person)).toHaveLength(1), WAIT);
    expect(answersOf(person)[0]?.shown).toEqual([words(60)]);
    expect(telegram.drafts.shown(person)).toEqual([]);
    expect(telegram.chats.peek(person)?.actions.length).toBeGreaterThan(0);
  });

  it.concurrent('is a growing message if no way was chosen, and in groups, which have no drafts', async () => {
    const { telegram } = fixture();
    const person = await someone();
    await asksInTwoParts(person, 'grow', () => FIRST_PART.test(answersOf(person)[0]?.text ?? ''));
    await vi.waitFor(() => expect(answersOf(person)[0]?.text).toBe(words(60)), WAIT);
    telegram.says('-1005', '/stream draft', person);
    await vi.waitFor(
      () => expect(telegram.screen('-1005')).toEqual(['Here /stream accepts edit, off.']),
      WAIT,
    );
    telegram.says(person, '/stream', person);
    await vi.waitFor(
      () =>
        expect(telegram.screen(person).at(-1)).toBe(
          'Answers appear here in a message that grows (edit). Choose with /stream draft, /stream edit, /stream off. /stream thinking also shows what the model thinks.',
        ),
      WAIT,
    );
  });

  it('is a draft with a table from its first rows on, and then a message that looks the same', async () => {
    const { telegram } = fixture();
    telegram.knowsRich = true;
    const person = await someone('draft');
    const rows = Array.from({ length: 12 }, (_, n) => `| tea ${n} | green |`);
    const table = `Here they are:\n\n| what | how |\n|--|--|\n${rows.join('\n')}`;
    const growingDrafts = () =>
      telegram.drafts
        .shown(person)
        .filter(({ rich, text }) => rich !== undefined && text.includes('| tea 0 | green |'));
    // The end of the table waits until its beginning is on screen.
    asks(person, 'draft a table', { text: table, failure: { kind: 'hang', after: 50 } });
    await vi.waitFor(() => expect(growingDrafts().length).toBeGreaterThan(0), WAIT);
    (await fixture().modelCall(`draft a table ${person}`)).release();
    await vi.waitFor(() => expect(answersOf(person)).toHaveLength(1), WAIT);
    await fixture().idle(`telegram:${person}`);
    telegram.knowsRich = false;
    const drafts = telegram.drafts.shown(person);
    const growing = growingDrafts();
    expect(growing.every(({ canStop }) => canStop)).toBe(true);
    expect(new Set(drafts.map(({ draftId }) => draftId)).size).toBe(1);
    expect(answersOf(person)[0]?.shown).toHaveLength(1);
    // The last row of a draft may be cut in the middle of a cell, which is closed then.
    const open = growing.at(-1)?.text.replace(/[ |]*$/, '') ?? '';
    expect(open).toContain('| tea 0 | green');
    expect(answersOf(person)[0]?.text.startsWith(open)).toBe(true);
  });

  it('is a draft of the usual kind if rich ones are refused, including for the next answers there', async () => {
    const { telegram } = fixture();
    telegram.knowsRich = true;
    const person = await someone('draft');
    const table = `| what | how |\n|--|--|\n| tea | green |\n\n${words(40)}`;
    telegram.failure({
      kind: 'status',
      method: 'sendRichMessageDraft',
      status: 400,
      description: 'Bad Request: no rich drafts',
    });
    asks(person, 'refuse the rich draft', { text: table, perSecond: 40 });
    await vi.waitFor(() => expect(answersOf(person)).toHaveLength(1), WAIT);
    expect(telegram.drafts.shown(person).at(-1)).toMatchObject({ text: expect.stringContaining('word') });
    expect(answersOf(person)[0]?.rich).toBeDefined();
    const calls = telegram.count('sendRichMessageDraft');
    asks(person, 'a second table', { text: table, perSecond: 40 });
    await vi.waitFor(() => expect(answersOf(person)).toHaveLength(2), WAIT);
    telegram.knowsRich = false;
    expect(telegram.count('sendRichMessageDraft')).toBe(calls);
  });

  it('is a growing message if the server does not support drafts, which are not tried again there', async () => {
    const { telegram } = fixture();
    const person = await someone('draft');
    telegram.failure({
      kind: 'status',
      method: 'sendMessageDraft',
      status: 404,
      description: 'Not Found: method not found',
    });
    await asksInTwoParts(person, 'no drafts here', () => FIRST_PART.test(answersOf(person)[0]?.text ?? ''));
    await vi.waitFor(() => expect(answersOf(person)[0]?.text).toEqual(words(60)), WAIT);
    const calls = telegram.count('sendMessageDraft');
    await asksInTwoParts(person, 'nor here', () => FIRST_PART.test(answersOf(person)[1]?.text ?? ''));
    await vi.waitFor(() => expect(answersOf(person)[1]?.text).toEqual(words(60)), WAIT);
    expect(telegram.count('sendMessageDraft')).toBe(calls);
    expect(fixture().log.join('')).not.toContain('Telegram refuses the bot token');
  });
});
