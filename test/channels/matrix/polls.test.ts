/** Polls in rooms: the bot reads them as words. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

let setup: MatrixSetup;
beforeEach(async () => {
  setup = await MatrixSetup.open();
});
afterEach(() => setup.close());

it('are described in words, in the form clients send and in the form the specification defines', async () => {
  const { rooms } = setup.server;
  const ada = rooms.person('Ada');
  const room = rooms.room(ada);
  await setup.start();
  const say = (type: string, content: Record<string, unknown>): unknown =>
    rooms.add(room, { type, sender: ada.id, content });
  const old = (text: string): object => ({ 'org.matrix.msc1767.text': text });
  const text = (body: string): object => ({ 'm.text': [{ body }] });
  say('org.matrix.msc3381.poll.start', {
    'org.matrix.msc3381.poll.start': { question: old('Tea\nor not?'), answers: [old('yes'), old('no')] },
  });
  say('m.poll.start', { 'm.poll': { question: text('When?'), answers: [text('now'), text('later')] } });
  say('m.poll.start', { 'm.poll': 'nothing' });
  setup.server.says(room, 'end', ada);
  await vi.waitFor(() => expect(setup.received).toHaveLength(3), { timeout: 5_000, interval: 5 });
  expect(setup.contents).toEqual(['[poll "Tea or not?": yes / no]', '[poll "When?": now / later]', 'end']);
  expect(setup.received[0]).toMatchObject({ senderName: 'Ada', place: 'private', media: [] });
});
