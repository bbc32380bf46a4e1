/** A Matrix room that is replaced while the bot answers there, through a whole gateway. */
import { afterAll, expect, it, vi } from 'vitest';
import { addressOf } from '../../../../src/protocol/message.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../../fakes/matrix/homeserver.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

const server = await FakeHomeserver.open();
const env = { MATRIX_URL: server.root, MATRIX_TOKEN };
afterAll(() => server.close());

describeGateway('A Matrix room that is replaced', { env }, (fixture) => {
  it('continues in the new room: with what was not shown yet, the context, and the grant', async () => {
    const { rooms } = server;
    const ada = rooms.person('Ada');
    const room = rooms.room(ada, rooms.person('Bob'));
    await fixture().store.access.addGrant('matrix', 'group', room.id);
    fixture().ollama.answer({ text: words(60), perSecond: 20 }, { when: 'a lot' });
    server.says(room, 'Parley: tell me a lot', ada, { mentions: true });
    await vi.waitFor(() => expect(server.screen(room).join('')).toContain('word0'), WAIT);

    const fresh = rooms.upgrade(room, ada);
    rooms.member(fresh, rooms.person('Bob'), 'join');
    await vi.waitFor(() => expect(server.screen(fresh)).toEqual([words(60)]), WAIT);

    fixture().ollama.answer('Then it ended.', { when: 'and then?' });
    server.says(fresh, 'Parley: and then?', ada, { mentions: true });
    await vi.waitFor(() => expect(server.screen(fresh)).toEqual([words(60), 'Then it ended.']), WAIT);
    expect(JSON.stringify((await fixture().modelCall('and then?')).body)).toContain('tell me a lot');
    const stored = await fixture().messages(addressOf({ channel: 'matrix', chatId: room.id }));
    expect(stored.map(({ content }) => content)).toEqual([
      'tell me a lot',
      words(60),
      'and then?',
      'Then it ended.',
    ]);
  });
});
