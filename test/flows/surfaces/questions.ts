/** People on Telegram who have each other asked through the bot: what they write and press, and what they read. */
import { expect, vi } from 'vitest';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';
import { FAKE_TOKEN } from '../../fakes/telegram/telegram.ts';
import { FRIENDS, type GatewayFixture, WAIT } from '../setup.ts';

/** The friends who own the bot of these tests. */
export const ASKING_OWNERS = FRIENDS.slice(-10);

/** What the model read as the result of the last call of the turn that answers a question with this text. */
export async function toolAnswerIn({ ollama }: GatewayFixture, said: string): Promise<string> {
  const body = await vi.waitFor(() => {
    const call = ollama.calls.findLast(({ body: { messages } }) => {
      const question = messages.findLastIndex(
        ({ role, content }) => role === 'user' && content?.includes(said),
      );
      return question >= 0 && messages.findLastIndex(({ role }) => role === 'tool') > question;
    });
    if (call === undefined) throw new Error('the tool has not answered');
    return call.body;
  }, WAIT);
  return withoutNotes(body.messages.findLast(({ role }) => role === 'tool')?.content ?? '');
}

/** Sends a message of the bot once more, as a process does whose first send was killed; returns the id of the copy. */
export async function sendCopy({ telegram }: GatewayFixture, chat: string, id: number): Promise<number> {
  const { text, buttons = [] } = telegram.messages(chat).find((one) => one.id === id) ?? {};
  const keyboard = buttons.map((one) => ({ text: one.text, callback_data: one.data }));
  const sent = await fetch(`${telegram.root}/bot${FAKE_TOKEN}/sendMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chat_id: chat, text, reply_markup: { inline_keyboard: [keyboard] } }),
  });
  expect(sent.status).toBe(200);
  return telegram.messages(chat).at(-1)?.id ?? 0;
}

/** What tests do with questions; each owner and person is given once. */
export function questionsOn(fixture: () => GatewayFixture) {
  const people = FRIENDS.values();
  const owners = ASKING_OWNERS.values();
  const person = (): string => people.next().value ?? '';
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const says = (chat: string, text: string, more = {}): number =>
    fixture().telegram.says(chat, text, chat, more);
  const calls = (when: string, name: string, args: object): void =>
    fixture().ollama.answer({ toolCalls: [{ name, args }] }, { when });
  const owner = (): string => owners.next().value ?? '';
  /** The id of the message in this chat with that text. */
  const messageWith = (chat: string, text: string): number => {
    const found = fixture()
      .telegram.messages(chat)
      .findLast((message) => message.text.includes(text));
    if (found === undefined) throw new Error(`no message with "${text}" in ${chat}`);
    return found.id;
  };
  const copied = async (chat: string, text: string): Promise<number> =>
    await sendCopy(fixture(), chat, messageWith(chat, text));
  const pressed = async (chat: string, label: string): Promise<string> => {
    const id = fixture().telegram.press(chat, label, chat);
    await vi.waitFor(() => expect(fixture().telegram.pressed.answers.has(id)).toBe(true), WAIT);
    return fixture().telegram.pressed.answers.get(id) ?? '';
  };
  const toolAnswer = (said: string): Promise<string> => toolAnswerIn(fixture(), said);
  /** Two people on Telegram, and the question of the first one at the other, which the first one has approved. */
  const asked = async (
    question: string,
    friend = person(),
  ): Promise<{ chat: string; friend: string; said: string }> => {
    const chat = owner();
    const said = `${chat}: please ask ${friend}`;
    // Someone who was asked already would answer by this.
    if (screen(friend) === '') says(friend, `hello ${friend}`);
    await seen(friend, `echo: hello ${friend}`);
    calls(said, 'ask', { to: `Person ${friend}`, question });
    says(chat, said);
    await seen(chat, `It writes to another chat: Telegram (private chat with Person ${friend})`);
    expect(screen(friend)).not.toContain(question);
    fixture().telegram.press(chat, 'Approve', chat);
    await seen(friend, question);
    return { chat, friend, said };
  };

  return { screen, seen, says, calls, owner, messageWith, copied, pressed, toolAnswer, asked, person };
}
