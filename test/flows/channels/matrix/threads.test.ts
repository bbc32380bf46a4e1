/** Threads on Matrix: what was said there before the bot was asked, and follow-ups without its name. */
import { afterAll, expect, it, vi } from 'vitest';
import { addressOf } from '../../../../src/protocol/message.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../../fakes/matrix/homeserver.ts';
import { lastUserText } from '../../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const server = await FakeHomeserver.open();
const env = { MATRIX_URL: server.root, MATRIX_TOKEN };
afterAll(() => server.close());
const [ada, bob] = [server.rooms.person('Ada'), server.rooms.person('Bob')];

describeGateway('A thread on Matrix', { env }, (fixture) => {
  const group = async () => {
    const room = server.rooms.room(ada, bob);
    await fixture().store.access.addGrant('matrix', 'group', room.id);
    return room;
  };
  const heard = async (said: string): Promise<string> => lastUserText((await fixture().modelCall(said)).body);

  it('is read when the bot is first asked there, from its first message on', async () => {
    const room = await group();
    const { event_id: thread } = server.says(room, 'The deploy failed with exit code 137.', bob);
    server.says(room, 'Looks like OOM on node-7.', ada, { thread });
    server.says(room, 'not in the thread', bob);
    server.says(room, 'Parley: summarize this thread', ada, { thread, mentions: true });
    const read = await heard('summarize this thread');
    expect(read).toContain('Bob: The deploy failed with exit code 137.\nAda: Looks like OOM on node-7.\n');
    expect(read).not.toContain('not in the thread');
    expect(read.match(/summarize this thread/g)).toHaveLength(1);
  });

  it('goes on without the name of the bot, until someone else writes there', async () => {
    const room = await group();
    const { event_id: thread } = server.says(room, 'Capitals', ada);
    const asks = async (text: string, mentions: boolean, answers: number): Promise<void> => {
      server.says(room, mentions ? `Parley: ${text}` : text, ada, { thread, mentions });
      await vi.waitFor(() => expect(server.screen(room)).toHaveLength(answers), WAIT);
      await fixture().idle(addressOf({ channel: 'matrix', chatId: room.id, threadId: thread }));
    };
    await asks('capital of France?', true, 1);
    await asks('and of Spain?', false, 2);
    server.says(room, 'Madrid is nice', bob, { thread });
    server.says(room, 'yes, Bob', ada, { thread });
    await asks('and of Chile?', true, 3);
    const read = await heard('and of Chile?');
    expect(read).toContain('Bob: Madrid is nice\nAda: yes, Bob\n');
  });
});
