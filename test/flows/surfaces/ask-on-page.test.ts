/** A question to whoever reads a session on the page: listed there, answered over the API, and told to no one else. */
import { expect, it, vi } from 'vitest';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { ASKING_OWNERS, questionsOn } from './questions.ts';

const SETTINGS = {
  telegram: true,
  file: {
    tools: { enabled: ['ask'] },
    access: { telegram: { allow: FRIENDS }, owners: { telegram: ASKING_OWNERS } },
  },
};

interface Listed {
  id: string;
  session: string;
  turnId: string;
  question: { asker: string; text: string } | null;
}

describeGateway('a question to a session on the page', SETTINGS, (fixture) => {
  const { says, seen, calls, owner, toolAnswer } = questionsOn(fixture);
  const tokenFor = async (name: string): Promise<string> => {
    const json = { name, scopes: ['chat'] };
    const created = await fixture().call('/v1/tokens', { json });
    const { secret } = await created.json();
    return secret;
  };
  const listed = async (token: string): Promise<Listed[]> => {
    const { approvals } = await (await fixture().call('/v1/approvals', { token })).json();
    return approvals;
  };
  /** The session of a token, and the question that an owner on Telegram has put there. */
  const asked = async (key: string, text: string) => {
    const token = await tokenFor(key);
    const json = { content: 'hello' };
    await fixture().call(`/v1/sessions/http:${key}/messages`, { json, token });
    const chat = owner();
    const said = `ask ${key}`;
    calls(said, 'ask', { to: `http:${key}`, question: text });
    says(chat, said);
    await seen(chat, `"question": "${text}"`);
    fixture().telegram.press(chat, 'Approve', chat);
    const question = await vi.waitFor(async () => {
      const [found] = await listed(token);
      if (found === undefined) throw new Error('nothing is asked');
      return found;
    }, WAIT);
    return { token, chat, said, question };
  };
  const answer = async (id: string, token: string, json: object): Promise<number> =>
    (await fixture().call(`/v1/questions/${id}`, { token, json })).status;

  it('is listed in that session without anything of the other conversation, and answered once', async () => {
    const { token, chat, said, question } = await asked('desk', 'Where is it?');
    expect(question).toMatchObject({
      session: 'http:desk',
      tool: 'ask',
      args: {},
      question: { asker: `Person ${chat}`, text: 'Where is it?' },
    });
    expect(JSON.stringify(question)).not.toContain(`telegram:${chat}`);
    expect(await answer(question.id, token, { answer: ' ' })).toBe(400);
    expect(await answer(question.id, token, { answer: 'x'.repeat(4_001) })).toBe(400);
    expect(await answer(question.id, token, { answer: 'On the desk.' })).toBe(200);
    expect(await toolAnswer(said)).toContain('On the desk.');
    expect(await answer(question.id, token, { answer: 'Or not.' })).toBe(409);
    expect(await listed(token)).toEqual([]);
  });

  it('is neither shown to other tokens, not even an admin, nor answered by them', async () => {
    const { token, question } = await asked('shelf', 'Is it yours?');
    const stranger = await tokenFor('stranger');
    expect(await listed(stranger)).toEqual([]);
    const all = await (await fixture().call('/v1/approvals')).json();
    expect(all.approvals).toEqual([]);
    expect(await answer(question.id, stranger, { answer: 'mine' })).toBe(404);
    expect((await fixture().call(`/v1/questions/${question.id}`, { json: { answer: 'mine' } })).status).toBe(
      404,
    );
    expect(await answer(question.id, token, { refuse: true })).toBe(200);
  });

  it('is refused for good on request, and /answer works there, too', async () => {
    const first = await asked('lamp', 'Is it on?');
    const json = { content: '/answer It is off.' };
    await fixture().call('/v1/sessions/http:lamp/messages', { json, token: first.token });
    expect(await toolAnswer(first.said)).toContain('It is off.');
    calls('once more', 'ask', { to: 'http:lamp', question: 'And now?' });
    says(first.chat, 'once more');
    await seen(first.chat, '"question": "And now?"');
    fixture().telegram.press(first.chat, 'Approve', first.chat);
    const { id } = await vi.waitFor(async () => {
      const [found] = await listed(first.token);
      if (found === undefined) throw new Error('nothing is asked');
      return found;
    }, WAIT);
    expect(await answer(id, first.token, { refuse: true, never: true })).toBe(200);
    expect(await toolAnswer('once more')).toContain('does not want to answer');
    calls('a third time', 'ask', { to: 'http:lamp', question: 'Still?' });
    says(first.chat, 'a third time');
    await seen(first.chat, '"question": "Still?"');
    fixture().telegram.press(first.chat, 'Approve', first.chat);
    expect(await toolAnswer('a third time')).toContain('does not want to be asked for others');
  });

  it('is announced as an event of that session, and again when it needs no answer any more', async () => {
    const { token, chat } = await asked('door', 'Is it open?');
    const events = await fixture().call('/v1/sessions/http:door/events', { token });
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    says(chat, '/stop');
    let text = '';
    while (!text.includes('approval_decided')) text += (await reader?.read())?.value ?? '';
    expect(text).toContain('"how":"stop"');
    await reader?.cancel();
    expect(await listed(token)).toEqual([]);
  });

  it('goes to no session whose token is gone', async () => {
    const token = await tokenFor('gone');
    await fixture().call('/v1/sessions/http:gone/messages', { json: { content: 'hi' }, token });
    const { tokens } = await (await fixture().call('/v1/tokens')).json();
    const { id } = tokens.find(({ name }: { name: string }) => name === 'gone');
    await fixture().call(`/v1/tokens/${id}`, { method: 'DELETE' });
    const chat = owner();
    calls('gone?', 'ask', { to: 'http:gone', question: 'Hello?' });
    says(chat, 'gone?');
    await seen(chat, '"question": "Hello?"');
    fixture().telegram.press(chat, 'Approve', chat);
    expect(await toolAnswer('gone?')).toContain('Not asked');
  });
});
