/**
 * Rooms that are replaced by others: followed if both rooms agree, even after a crash in between, and never on one
 * room's word.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MAX_MOVES } from '../../../channels/matrix/rooms.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import type { FakeRoom } from '../../fakes/matrix/rooms.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

const WAIT = { timeout: 5_000, interval: 5 };

let setup: MatrixSetup;
beforeEach(async () => {
  setup = await MatrixSetup.open();
  setup.access = { ...setup.access, dm: 'allowlist' };
});
afterEach(() => setup.close());

const bot = () => setup.server.rooms.bot;
const person = (name: string) => setup.server.rooms.person(name);
const isIn = (room: FakeRoom): boolean => setup.server.rooms.membership(room, bot().id) === 'join';
const move = (from: FakeRoom, to: FakeRoom) => ({ channel: 'matrix', from: from.id, to: to.id });

/** Everything that was written so far is read. */
async function caughtUp(room: FakeRoom): Promise<void> {
  setup.server.says(room, 'the last message', person('Ada'));
  await vi.waitFor(() => expect(setup.contents).toContain('the last message'), WAIT);
}

it('moves into the room that replaces one, with everything said before and after', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  setup.server.says(old, 'before', person('Bob'));
  const fresh = rooms.upgrade(old, person('Ada'));
  await vi.waitFor(() => expect(setup.moves).toEqual([move(old, fresh)]), WAIT);
  setup.server.says(fresh, 'after', person('Ada'));
  await vi.waitFor(() => expect(setup.contents).toEqual(['before', 'after']), WAIT);
  expect(setup.received.map(({ chatId }) => chatId)).toEqual([old.id, fresh.id]);
});

it('treats a room as a group as long as the one it replaces has several people: they move one by one', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  const fresh = rooms.upgrade(old, person('Ada'));
  await vi.waitFor(() => expect(setup.moves).toHaveLength(1), WAIT);
  setup.server.says(fresh, 'nobody else is here yet', person('Ada'));
  await vi.waitFor(() => expect(setup.received).toMatchObject([{ place: 'group', mentioned: false }]), WAIT);
  rooms.member(old, person('Bob'), 'leave');
  rooms.member(fresh, { ...person('Ada'), name: 'Ada L.' }, 'join');
  setup.server.says(fresh, 'nor will they come', person('Ada'));
  await vi.waitFor(() => expect(setup.received[1]).toMatchObject({ place: 'private' }), WAIT);
});

it('moves into a closed room once it is invited there, whoever invites it, and greets no one again', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  const fresh = rooms.upgrade(old, person('Ada'), { joinRule: 'invite' });
  await caughtUp(old);
  expect([isIn(fresh), setup.moves]).toEqual([false, []]);
  rooms.member(fresh, bot(), 'invite', person('Ada'));
  await vi.waitFor(() => expect(setup.moves).toEqual([move(old, fresh)]), WAIT);
  expect([isIn(fresh), setup.memberships]).toEqual([true, []]);
});

it('leaves a room again that does not name the one it is said to replace', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  const fresh = rooms.upgrade(old, person('Ada'), { predecessor: '!another:fake.test' });
  await vi.waitFor(() => expect(rooms.membership(fresh, bot().id)).toBe('leave'), WAIT);
  await vi.waitFor(() => expect(setup.log.join('')).toContain('matrix_replacement_refused'), WAIT);
  expect(fresh.state.get(`m.room.member ${bot().id}`)?.content).toMatchObject({ membership: 'leave' });
  expect(setup.moves).toEqual([]);
});

it('ignores the word of someone who is no longer in the room', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  let fresh: FakeRoom | undefined;
  await setup.restart(() => {
    fresh = rooms.upgrade(old, person('Bob'));
    rooms.member(old, person('Bob'), 'leave');
  });
  await caughtUp(old);
  expect([fresh && isIn(fresh), setup.moves]).toEqual([false, []]);
});

it('declines an invitation into a room that claims to replace one which does not confirm it', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  const fresh = rooms.upgrade(rooms.room(person('Eve')), person('Eve'), { predecessor: old.id });
  await setup.start();
  rooms.member(fresh, bot(), 'invite', person('Eve'));
  await vi.waitFor(() => expect(rooms.membership(fresh, bot().id)).toBe('leave'), WAIT);
  expect(setup.moves).toEqual([]);
});

it('finishes what an earlier process began: it had joined, and moved nothing yet', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  setup.moved = () => Promise.reject(new StoreError('unavailable', 'away', { retryable: true }));
  const fresh = rooms.upgrade(old, person('Ada'));
  await vi.waitFor(() => expect(isIn(fresh)).toBe(true), WAIT);
  await setup.restart(() => {
    setup.moved = () => Promise.resolve();
  });
  await vi.waitFor(() => expect(setup.moves).toEqual([move(old, fresh)]), WAIT);
});

it('moves even if the answer to its joining is lost', async () => {
  const { rooms, failures } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  await setup.start();
  failures.push({ kind: 'drop', match: /\/join\// });
  const fresh = rooms.upgrade(old, person('Ada'));
  await vi.waitFor(() => expect(setup.moves).toEqual([move(old, fresh)]), WAIT);
});

it.each([true, false])(
  'reports where the old room continues for what is sent there later, from any process (old room open: %s)',
  async (staysOpen) => {
    const { rooms } = setup.server;
    const old = rooms.room(person('Ada'), person('Bob'));
    await setup.start();
    const { id } = await setup.channel.send(setup.part(old.id, 'begun'));
    const fresh = rooms.upgrade(old, person('Ada'), { staysOpen });
    await vi.waitFor(() => expect(setup.moves).toHaveLength(1), WAIT);
    const moved = { code: 'chat_moved', movedTo: fresh.id };
    await expect(setup.channel.send(setup.part(old.id, 'ended'))).rejects.toMatchObject(moved);
    await setup.restart();
    await expect(setup.channel.send(setup.part(old.id, 'ended'))).rejects.toMatchObject(moved);
    await expect(setup.channel.edit?.({ id }, setup.part(old.id, 'ended'))).rejects.toMatchObject(moved);
    expect(setup.server.screen(old)).toEqual(['begun']);
  },
);

it('asks again where a room continues that accepts nothing more', async () => {
  const { rooms } = setup.server;
  const old = rooms.room(person('Ada'), person('Bob'));
  // Another process receives: this one only sends.
  await setup.channel.send(setup.part(old.id, 'begun'));
  const fresh = rooms.upgrade(old, person('Ada'));
  rooms.member(fresh, bot(), 'join');
  const sent = setup.channel.send(setup.part(old.id, 'ended'));
  await expect(sent).rejects.toMatchObject({ code: 'chat_moved', movedTo: fresh.id });
});

it(`names the last of rooms that replaced each other, and follows ${MAX_MOVES} at once`, async () => {
  const { rooms } = setup.server;
  const chain = [rooms.room(person('Ada'))];
  for (let count = 0; count <= MAX_MOVES; count += 1) {
    const fresh = rooms.upgrade(chain.at(-1) ?? rooms.empty(), person('Ada'));
    rooms.member(fresh, bot(), 'join');
    chain.push(fresh);
  }
  const sendTo = async (room: FakeRoom | undefined) =>
    await setup.channel.send(setup.part(room?.id ?? '', 'where?'));
  await expect(sendTo(chain[1])).rejects.toMatchObject({ movedTo: chain.at(-1)?.id });
  await expect(sendTo(chain[0])).rejects.toMatchObject({ movedTo: chain[MAX_MOVES]?.id });
});
