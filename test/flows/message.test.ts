/**
 * The tool `message` through a whole gateway: on screen before the answer, in the session over HTTP, once after a
 * crash.
 */
import { expect, it, vi } from 'vitest';
import { eventsUntil } from '../channels/http/client.ts';
import { describeGateway, FRIENDS, WAIT } from './setup.ts';

const people = FRIENDS.values();
const file = { access: { telegram: { allow: FRIENDS } }, tools: { enabled: ['message'] } };
const send = (text: string, more = {}) => ({ toolCalls: [{ name: 'message', args: { text, ...more } }] });

describeGateway('a message in the middle of a turn', { telegram: true, file }, (fixture) => {
  it('is on screen before the answer starts, once, and stays there (B-23)', async () => {
    const chat = people.next().value ?? '';
    fixture().ollama.answer(send('This takes a while.'), { when: `work ${chat}` });
    fixture().ollama.answer({ text: 'All done.', hold: true }, { when: `work ${chat}` });
    fixture().telegram.says(chat, `work ${chat}`, chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toContain('This takes a while.'), WAIT);
    expect(fixture().telegram.screen(chat).join()).not.toContain('All done.');
    const held = await vi.waitFor(() => {
      const calls = fixture().ollama.calls.filter(({ body }) =>
        JSON.stringify(body).includes(`work ${chat}`),
      );
      if (calls[1] === undefined) throw new Error('the answer has not begun');
      return calls[1];
    }, WAIT);
    held.release();
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toContain('All done.'), WAIT);
    expect(fixture().telegram.screen(chat).toSorted()).toEqual(['All done.', 'This takes a while.']);
    const messages = await fixture().messages(`telegram:${chat}`);
    expect(messages.map(({ content }) => content)).toEqual([
      `work ${chat}`,
      'This takes a while.',
      'All done.',
    ]);
  });

  it('over HTTP is stored among the messages of the session and emitted as an event', async () => {
    await fixture().post('said', 'hello');
    await fixture().idle('http:said');
    const response = await fixture().call('/v1/sessions/http:said/events');
    fixture().ollama.answer(send('By the way.'), { when: 'say it' });
    fixture().ollama.answer({ text: 'And the answer.' }, { when: 'say it' });
    const turn = await fixture().post('said', 'say it');
    const { events } = await eventsUntil(
      response,
      ({ type, turnId }) => type === 'turn_ended' && turnId === turn,
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'message_sent', turnId: turn, content: 'By the way.', seq: 4 }),
    );
    const said = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    expect(said.join('')).toBe('And the answer.');
    expect((await fixture().messages('http:said')).map(({ content }) => content).slice(2)).toEqual([
      'say it',
      'By the way.',
      'And the answer.',
    ]);
  });

  it('is refused if it names a chat in which no one has written', async () => {
    const chat = people.next().value ?? '';
    fixture().ollama.answer(send('Psst.', { to: `telegram:${chat}` }), { when: 'tell somebody else' });
    await fixture().post('gossip', 'tell somebody else');
    await fixture().idle('http:gossip');
    const { body } = await fixture().modelCall('tell somebody else');
    expect(body.messages.find(({ role }) => role === 'tool')?.content).toContain(
      `no one called "telegram:${chat}" has written to this bot`,
    );
    expect(fixture().telegram.screen(chat)).toEqual([]);
  });
});
