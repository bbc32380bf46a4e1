/**
 * The prompt of a conversation stays the same, byte for byte, up to each new message: model servers keep what they have
 * read.
 */
import { expect, it } from 'vitest';
import type { FakeCall } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS } from '../setup.ts';
import { lastNote } from '../../fakes/model/spoken-text.ts';

const [CHAT = ''] = FRIENDS;

describeGateway('the prompt of a conversation', { telegram: true }, (fixture) => {
  /** The call that answers what was said, once its turn is over. */
  const callFor = async (said: string): Promise<FakeCall['body']> => {
    const { body } = await fixture().modelCall(said);
    await fixture().idle(`telegram:${CHAT}`);
    return body;
  };
  /** The bytes of a prompt up to the note at its end, which gives the time. */
  const known = ({ messages }: FakeCall['body']): string => {
    const all = JSON.stringify(messages);
    return all.slice(0, [...all.matchAll(/\\n\\n\[[0-9a-f]{16}: note\]/g)].at(-1)?.index);
  };

  it('grows only at its end, with the default profile and tools, quotes and files', async () => {
    const { telegram } = fixture();
    telegram.says(CHAT, 'good morning', CHAT);
    const calls = [await callFor('good morning')];
    const quoted = {
      reply_to_message: {
        message_id: 900,
        date: 1,
        chat: { id: Number(CHAT), type: 'private' },
        from: { id: Number(CHAT), is_bot: false, first_name: 'Ada' },
        forward_origin: { type: 'hidden_user', date: 1, sender_user_name: 'Mallory' },
        text: 'the tide is high at six',
      },
    };
    telegram.says(CHAT, 'what of that', CHAT, { fields: quoted });
    calls.push(await callFor('what of that'));
    const file = telegram.files.document({ bytes: Buffer.from('low water at noon'), name: 'tides.txt' });
    telegram.sends(CHAT, { ...file, caption: 'and of this' }, CHAT);
    calls.push(await callFor('and of this'));
    telegram.says(CHAT, 'thank you', CHAT);
    calls.push(await callFor('thank you'));

    expect(calls[0]?.tools?.map((tool) => tool.function.name)).toEqual(
      expect.arrayContaining(['read_file', 'web_fetch', 'spawn_agent', 'plan', 'todo']),
    );
    expect(JSON.stringify(calls[3]?.messages)).toContain('low water at noon');
    for (const [at, call] of calls.slice(1).entries()) {
      const before = known(calls[at] ?? call);
      expect(before.length).toBeGreaterThan(500);
      expect(JSON.stringify(call.messages).slice(0, before.length)).toBe(before);
      expect(JSON.stringify(call.tools)).toBe(JSON.stringify(calls[0]?.tools));
    }
  });

  it('states at its end when and where it is, who is writing, in what role, and has quotes and files in the message itself', async () => {
    const call = fixture().ollama.calls.find(({ body }) =>
      JSON.stringify(body.messages).includes('and of this'),
    );
    const note = call === undefined ? '' : lastNote(call.body);
    expect(note).toMatch(/It is \w+day, \d+ \w+ \d{4} at \d\d:\d\d \([\w/+-]+\)/);
    expect(note).toMatch(/private chat on Telegram with ".+", a user of this bot/);
    const [asked] = (call?.body.messages ?? []).filter(({ content }) => content.includes('and of this'));
    expect(asked?.content).toContain('tides.txt');
    const [quoting] = (call?.body.messages ?? []).filter(({ content }) => content.includes('what of that'));
    expect(quoting?.content).toMatch(/from Mallory; quoted by the user[\s\S]*the tide is high at six/);
  });
});
