/** What the model thinks, in a chat that wants to see it: a line while it thinks, folded above the answer afterwards. */
import { expect, it, vi } from 'vitest';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const THOUGHT = 'The user wants *tea*. ';
const file = {
  access: { telegram: { allow: FRIENDS } },
  channels: { telegram: { richMessages: false, editIntervalMs: { private: 100, group: 100 } } },
};

describeGateway('the thinking of the model', { telegram: true, file }, (fixture) => {
  const tells = async (person: string, command: string, reply: string): Promise<void> => {
    fixture().telegram.says(person, command, person);
    await vi.waitFor(() => expect(fixture().telegram.screen(person).at(-1)).toContain(reply), WAIT);
  };
  const answerOf = (person: string) => fixture().telegram.messages(person).at(-1);

  it('is one edited line while it thinks, and a folded quote above the answer, also after a restart', async () => {
    const person = people.next().value ?? '';
    const { ollama, telegram } = fixture();
    await tells(person, '/stream thinking', 'this chat shows what the model thinks');
    ollama.answer(
      { thinking: [THOUGHT, 'It is hot.'], text: 'Here you are.', failure: { kind: 'hang', after: 1 } },
      { when: `tea ${person}` },
    );
    telegram.says(person, `tea ${person}`, person);
    await vi.waitFor(
      () => expect(answerOf(person)?.text).toMatch(/^💭 thinking, \d+ s · The user wants \*tea\*\.$/),
      WAIT,
    );
    (await fixture().modelCall(`tea ${person}`)).release();
    await vi.waitFor(() => expect(answerOf(person)?.text).toContain('Here you are.'), WAIT);
    await fixture().idle(`telegram:${person}`);
    await vi.waitFor(
      () =>
        expect(answerOf(person)?.text).toBe('Thinking\nThe user wants *tea*. It is hot.\n\nHere you are.'),
      WAIT,
    );
    expect(answerOf(person)?.source).toMatch(/^<blockquote expandable>(<b>)?Thinking/);
    expect((await fixture().messages(`telegram:${person}`)).at(-1)?.content).toBe('Here you are.');
  });

  it('stays hidden where nobody asked for it, and after it was switched off', async () => {
    const person = people.next().value ?? '';
    const { ollama, telegram } = fixture();
    const ask = async (question: string): Promise<string | undefined> => {
      ollama.answer({ thinking: THOUGHT, text: `Done: ${question}.` }, { when: `${question} ${person}` });
      telegram.says(person, `${question} ${person}`, person);
      await vi.waitFor(() => expect(answerOf(person)?.text).toContain(`Done: ${question}.`), WAIT);
      await fixture().idle(`telegram:${person}`);
      return answerOf(person)?.text;
    };
    expect(await ask('first')).toBe('Done: first.');
    await tells(person, '/stream', 'thinking also shows what the model thinks');
    await tells(person, '/stream thinking', 'this chat shows');
    await tells(person, '/stream thinking off', 'no longer shows');
    expect(await ask('second')).toBe('Done: second.');
  });
});
