/** A person who was asked for someone else writes on: the next message is the answer, and can be taken back. */
import { expect, it, vi } from 'vitest';
import { MAX_ANSWER_CHARS } from '../../../src/protocol/agent/approvals.ts';
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

describeGateway('the next message of a person who was asked', SETTINGS, (fixture) => {
  const { screen, seen, says, asked, messageWith, pressed, toolAnswer } = questionsOn(fixture);
  const stored = async (question: string): Promise<Record<string, unknown> | undefined> => {
    const [row] = await fixture().sql`
      select state, reason from approval where detail #>> '{question,text}' = ${question}`;
    return row;
  };
  /** The time in which the answer can be taken back is over. */
  const timeIsUp = async (question: string): Promise<void> => {
    await fixture().sql`
      update lane set wake_at = now() where key in (
        select lane from approval where detail #>> '{question,text}' = ${question})`;
  };
  const labels = (chat: string, text: string): string[] =>
    fixture()
      .telegram.messages(chat)
      .findLast((message) => message.text.includes(text))
      ?.buttons.map(({ text: label }) => label) ?? [];

  it('is the answer: the person reads to whom it went and for which question, and can no longer undo it later', async () => {
    const { chat, friend, said } = await asked('Red or blue?');
    says(friend, 'Blue, I think.');
    await seen(friend, `Sent to Person ${chat} as your answer to: Red or blue?`);
    expect(labels(friend, 'as your answer')).toEqual(['Undo']);
    expect(await stored('Red or blue?')).toEqual({ state: 'approved', reason: 'Blue, I think.' });
    expect(fixture().ollama.calls.some(({ body }) => JSON.stringify(body).includes('Blue, I'))).toBe(false);
    await timeIsUp('Red or blue?');
    expect(await toolAnswer(said)).toContain('Blue, I think.');
    await seen(friend, 'You have answered.');
    await vi.waitFor(() => expect(labels(friend, `Sent to Person ${chat}`)).toEqual([]), WAIT);
    expect(screen(friend)).not.toContain('echo: Blue');
    const late = fixture().telegram.presses(friend, friend, `ask-undo:${await idOf('Red or blue?')}`);
    await vi.waitFor(() => expect(fixture().telegram.pressed.answers.get(late)).toContain('too late'), WAIT);
    says(friend, 'And now?');
    await seen(friend, 'echo: And now?');
  });

  const idOf = async (question: string): Promise<string> => {
    const [row] = await fixture()
      .sql`select id from approval where detail #>> '{question,text}' = ${question}`;
    return String(row?.['id']);
  };

  it('that is undone goes to the bot instead, once; from then on only a reply answers', async () => {
    const { friend, said, chat } = await asked('Shall I tell her?');
    says(friend, 'what is the weather?');
    await seen(friend, 'If you meant to write to me, undo it within 15 seconds.');
    const undo = await idOf('Shall I tell her?');
    expect(await pressed(friend, 'Undo')).toContain('I take it as a message to me');
    await seen(friend, 'echo: what is the weather?');
    await seen(friend, 'You can still answer by a reply to the question.');
    expect(screen(friend)).not.toContain('as your answer to');
    fixture().telegram.presses(friend, friend, `ask-undo:${undo}`);
    expect(await stored('Shall I tell her?')).toMatchObject({ state: 'pending' });
    says(friend, 'thanks');
    await seen(friend, 'echo: thanks');
    says(friend, 'No.', { replyTo: messageWith(friend, 'Shall I tell her?') });
    expect(await toolAnswer(said)).toContain('No.');
    await fixture().idle(`telegram:${friend}`);
    const messages = await fixture().messages(`telegram:${friend}`);
    expect(messages.filter(({ content }) => content === 'what is the weather?')).toHaveLength(1);
    expect(screen(chat)).not.toContain('weather');
    await seen(friend, 'You have answered.');
    expect(screen(friend)).not.toContain(`Sent to Person ${chat}`);
  });

  it('is undone only by the person who wrote it', async () => {
    const { friend, chat } = await asked('Is it secret?');
    says(friend, 'Yes, it is.');
    await seen(friend, 'as your answer to');
    const value = `ask-undo:${await idOf('Is it secret?')}`;
    const foreign = fixture().telegram.presses(chat, chat, value);
    await vi.waitFor(
      () => expect(fixture().telegram.pressed.answers.get(foreign)).toContain('too late'),
      WAIT,
    );
    expect(await stored('Is it secret?')).toMatchObject({ state: 'approved' });
  });

  it('is no answer if it is a command, a file, forwarded, a reply to something else, too long, or older than the question', async () => {
    const { friend, said } = await asked('Which of these?');
    says(friend, '/questions');
    await seen(friend, 'Owners of this bot may have me ask you.');
    const forwarded = { forward_origin: { type: 'hidden_user', sender_user_name: 'Bo', date: 1 } };
    says(friend, 'forwarded text', { fields: forwarded });
    await seen(friend, 'forwarded text');
    says(friend, 'a reply', { replyTo: messageWith(friend, `echo: hello ${friend}`) });
    await seen(friend, 'a reply');
    const file = fixture().telegram.files.document({ bytes: Buffer.from('some text'), name: 'notes.txt' });
    fixture().telegram.sends(friend, { ...file, caption: 'with a file' }, friend);
    await seen(friend, 'with a file');
    const before = { date: Math.floor(Date.now() / 1_000) - 60 };
    says(friend, 'written before', { fields: before });
    await seen(friend, 'echo: written before');
    says(friend, 'x'.repeat(MAX_ANSWER_CHARS + 1));
    await fixture().modelCall('x'.repeat(MAX_ANSWER_CHARS + 1));
    expect(await stored('Which of these?')).toMatchObject({ state: 'pending' });
    const longest = 'y'.repeat(MAX_ANSWER_CHARS);
    says(friend, longest);
    await seen(friend, 'as your answer to: Which of these?');
    await timeIsUp('Which of these?');
    expect(await toolAnswer(said)).toContain(longest);
  });

  it('answers the newest of several questions, and says who waits as well', async () => {
    const first = await asked('First question?');
    const second = await asked('Second question?', first.friend);
    says(first.friend, 'to the second');
    await seen(
      first.friend,
      `Person ${first.chat} waits for an answer, too: your next message here goes there.`,
    );
    expect(await stored('Second question?')).toMatchObject({ state: 'approved', reason: 'to the second' });
    expect(await stored('First question?')).toMatchObject({ state: 'pending' });
    says(first.friend, 'to the first');
    await seen(first.friend, 'as your answer to: First question?');
    await timeIsUp('First question?');
    await timeIsUp('Second question?');
    expect(await toolAnswer(first.said)).toContain('to the first');
    expect(await toolAnswer(second.said)).toContain('to the second');
  });

  it('is the answer, and so is a reply, while the id of the question on screen is not stored yet', async () => {
    for (const [text, isReply] of [
      ['as a reply', true],
      ['as the next', false],
    ] as const) {
      const question = `Seen ${text}?`;
      const { friend } = await asked(question);
      const id = await idOf(question);
      await fixture().idle(`telegram:${friend}`);
      const replyTo = messageWith(friend, question);
      // As when a node has died between the send and the storing of its id.
      await fixture().sql`delete from delivery where ref = ${`approval:${id}`}`;
      await fixture().sql`update lane_item set done_at = null where dedupe = ${`approval:${id}`}`;
      says(friend, text, isReply ? { replyTo } : {});
      await vi.waitFor(
        async () => expect(await stored(question)).toEqual({ state: 'approved', reason: text }),
        WAIT,
      );
    }
  });

  it('in a group is for the group', async () => {
    const { friend } = await asked('In private?');
    const group = '-100777';
    await fixture().store.access.addGrant('telegram', 'group', group);
    fixture().telegram.says(group, '@parley_test_bot in the group', friend);
    await seen(group, 'in the group');
    expect(await stored('In private?')).toMatchObject({ state: 'pending' });
  });
});
