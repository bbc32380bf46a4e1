/** The tool `message` through the whole house: on the screen before the answer, in the session over HTTP, once after a crash. */
import { expect, it, vi } from 'vitest';
import { eventsUntil } from '../channels/http/client.ts';
import { describeHouse, FRIENDS, WAIT } from './setup.ts';

const people = FRIENDS.values();
const file = { access: { telegram: { allow: FRIENDS } }, tools: { enabled: ['message'] } };
const send = (text: string, more = {}) => ({ toolCalls: [{ name: 'message', args: { text, ...more } }] });

describeHouse('a message in the middle of a turn', { telegram: true, file }, (house) => {
  it('is on the screen before the answer has begun, once, and stays there (B-23)', async () => {
    const chat = people.next().value ?? '';
    house().ollama.answer(send('This takes a while.'), { when: `work ${chat}` });
    house().ollama.answer({ text: 'All done.', hold: true }, { when: `work ${chat}` });
    house().telegram.says(chat, `work ${chat}`, chat);
    await vi.waitFor(() => expect(house().telegram.screen(chat)).toContain('This takes a while.'), WAIT);
    expect(house().telegram.screen(chat).join()).not.toContain('All done.');
    const held = await vi.waitFor(() => {
      const calls = house().ollama.calls.filter(({ body }) => JSON.stringify(body).includes(`work ${chat}`));
      if (calls[1] === undefined) throw new Error('the answer has not begun');
      return calls[1];
    }, WAIT);
    held.release();
    await vi.waitFor(() => expect(house().telegram.screen(chat)).toContain('All done.'), WAIT);
    expect(house().telegram.screen(chat).toSorted()).toEqual(['All done.', 'This takes a while.']);
    const messages = await house().messages(`telegram:${chat}`);
    expect(messages.map(({ content }) => content)).toEqual([
      `work ${chat}`,
      'This takes a while.',
      'All done.',
    ]);
  });

  it('over HTTP stands among the messages of the session and is told as an event', async () => {
    await house().post('said', 'hello');
    await house().idle('http:said');
    const response = await house().call('/v1/sessions/http:said/events');
    house().ollama.answer(send('By the way.'), { when: 'say it' });
    house().ollama.answer({ text: 'And the answer.' }, { when: 'say it' });
    const turn = await house().post('said', 'say it');
    const { events } = await eventsUntil(
      response,
      ({ type, turnId }) => type === 'turn_ended' && turnId === turn,
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'message_sent', turnId: turn, content: 'By the way.', seq: 4 }),
    );
    const said = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
    expect(said.join('')).toBe('And the answer.');
    expect((await house().messages('http:said')).map(({ content }) => content).slice(2)).toEqual([
      'say it',
      'By the way.',
      'And the answer.',
    ]);
  });

  it('is refused where another chat would read it', async () => {
    const chat = people.next().value ?? '';
    house().ollama.answer(send('Psst.', { address: `telegram:${chat}` }), { when: 'tell somebody else' });
    await house().post('gossip', 'tell somebody else');
    await house().idle('http:gossip');
    const { body } = await house().modelCall('tell somebody else');
    expect(body.messages.find(({ role }) => role === 'tool')?.content).toContain(
      'not an address of this conversation',
    );
    expect(house().telegram.screen(chat)).toEqual([]);
  });
});
