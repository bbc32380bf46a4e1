/** Both sides of a question agree: what happens when one refuses, does not answer, answers twice, or replies to something else. */
import { expect, it, vi } from 'vitest';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { ASKING_OWNERS, questionsOn } from './questions.ts';

const SETTINGS = {
  telegram: true,
  file: {
    tools: { enabled: ['ask'] },
    limits: { messagesAtOnce: 100 },
    access: { telegram: { allow: FRIENDS }, owners: { telegram: ASKING_OWNERS } },
  },
};

describeGateway('the consents to a question', SETTINGS, (fixture) => {
  const { screen, seen, says, calls, owner, person, asked, messageWith, pressed, toolAnswer } =
    questionsOn(fixture);
  /** An owner who is asked whether the question may be put to the friend. */
  const wanted = async (question: string): Promise<{ chat: string; friend: string; said: string }> => {
    const [chat, friend] = [owner(), person()];
    const said = `${chat}: may I ask ${friend}?`;
    says(friend, `hello ${friend}`);
    await seen(friend, `echo: hello ${friend}`);
    calls(said, 'ask', { to: `telegram:${friend}`, question });
    says(chat, said);
    await seen(chat, `"question": "${question}"`);
    return { chat, friend, said };
  };
  const stateOf = async (question: string): Promise<string[]> => {
    const rows = await fixture().sql<{ state: string }[]>`
      select state from approval where detail #>> '{question,text}' = ${question}`;
    return rows.map(({ state }) => state);
  };
  /** A reply to a message with this id that the sender's own chat shows, whatever it is. */
  const replyToId = (chat: string, id: number, text: string): void => {
    const from = { ...FAKE_BOT, is_bot: true, first_name: 'Parley' };
    const message = { message_id: id, date: 1, chat: { id: Number(chat), type: 'private' }, from, text: 'x' };
    says(chat, text, { fields: { reply_to_message: message } });
  };

  it('refused by the owner: the other person reads nothing, and the model is told', async () => {
    const { chat, friend, said } = await wanted('Refused?');
    expect(await pressed(chat, 'Deny')).toContain('Denied');
    expect(await toolAnswer(said)).toContain('was asked and did not allow ask');
    await fixture().idle(`telegram:${friend}`);
    expect(screen(friend)).toBe(`echo: hello ${friend}`);
    expect(await stateOf('Refused?')).toEqual([]);
  });

  it('never given by the owner: the other person reads nothing, and the request says that it expired', async () => {
    const { chat, friend, said } = await wanted('Never allowed?');
    await fixture().sql`
      update approval set expires_at = now() where detail #>> '{args,question}' = 'Never allowed?'`;
    await fixture().sql`update lane set wake_at = now() where key = ${`in:telegram:${chat}`}`;
    expect(await toolAnswer(said)).toContain('no one allowed ask in time');
    await seen(chat, 'Not run: no one answered in time.');
    expect(screen(friend)).toBe(`echo: hello ${friend}`);
  });

  it('given twice by the owner: the other person is asked once', async () => {
    const { chat, friend, said } = await wanted('Twice?');
    const button = fixture().telegram.messages(chat).at(-1);
    const value = button?.buttons.find(({ text }) => text === 'Approve')?.data ?? '';
    const presses = [1, 2].map(() => fixture().telegram.presses(chat, chat, value, button));
    says(chat, '/approve');
    await seen(friend, 'Twice?');
    await vi.waitFor(() => {
      const answers = presses.map((press) => fixture().telegram.pressed.answers.get(press));
      expect(answers).toEqual(['Approved.', expect.stringContaining('already approved')]);
    }, WAIT);
    says(friend, 'Yes.', { replyTo: messageWith(friend, 'Twice?') });
    expect(await toolAnswer(said)).toContain('Yes.');
    expect(
      fixture()
        .telegram.screen(friend)
        .filter((text) => text.includes('Twice?')),
    ).toHaveLength(1);
  });

  it('refused by the other person stays refused: a later answer is not passed on, and neither is a second refusal', async () => {
    const { friend, said, chat } = await asked('Will you?');
    const question = messageWith(friend, 'Will you?');
    const refuse = fixture()
      .telegram.messages(friend)
      .find(({ id }) => id === question)
      ?.buttons.find(({ text }) => text === 'Refuse');
    expect(await pressed(friend, 'Refuse')).toBe('I say that you do not want to answer.');
    expect(await toolAnswer(said)).toContain('does not want to answer');
    says(friend, 'Yes, after all.', { replyTo: question });
    await seen(friend, 'you have already answered this question');
    const again = fixture().telegram.presses(friend, friend, refuse?.data ?? '', { id: question });
    await vi.waitFor(
      () => expect(fixture().telegram.pressed.answers.get(again)).toContain('already answered'),
      WAIT,
    );
    expect(screen(chat)).not.toContain('after all');
  });

  it('are not given by a reply to a message of the same number in the chat of someone else', async () => {
    const { chat, friend } = await wanted('Foreign?');
    const stranger = person();
    replyToId(stranger, messageWith(chat, '"question": "Foreign?"'), '{"question": "Changed?"}');
    await seen(stranger, 'Changed?');
    expect(screen(chat)).not.toMatch(/Approved|Denied/);
    says(chat, '/approve');
    await seen(friend, 'Foreign?');
    replyToId(stranger, messageWith(friend, 'Foreign?'), 'I answer for them.');
    await seen(stranger, 'I answer for them.');
    expect(await stateOf('Foreign?')).toEqual(['pending']);
  });

  it('are given by a text whose question was deleted, because it is the next message', async () => {
    const { friend, said } = await asked('Still there?');
    const question = messageWith(friend, 'Still there?');
    fixture().telegram.chats.open(friend).messages.delete(question);
    // Telegram leaves out a message that is gone: what was a reply arrives as a plain message.
    says(friend, 'I am.', { replyTo: question });
    await seen(friend, 'as your answer to: Still there?');
    await fixture().sql`
      update lane set wake_at = now() where key in (
        select lane from approval where detail #>> '{question,text}' = 'Still there?')`;
    expect(await toolAnswer(said)).toContain('I am.');
  });

  it('are not given by a reply to what a command has shown only its sender', async () => {
    const { friend } = await asked('Hidden?');
    says(friend, '/questions');
    await seen(friend, 'Owners of this bot may have me ask you.');
    says(friend, 'about that', { replyTo: messageWith(friend, 'Owners of this bot') });
    await seen(friend, 'about that');
    expect(await stateOf('Hidden?')).toEqual(['pending']);
  });
});
