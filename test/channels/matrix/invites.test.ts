/** Invitations, rooms that the bot leaves, and rooms that are encrypted. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';
import { MAX_STRANGER_ROOMS } from '../../../channels/matrix/joining.ts';
import type { FakeRoom } from '../../fakes/matrix/rooms.ts';

const WAIT = { timeout: 5_000, interval: 5 };

let setup: MatrixSetup;
beforeEach(async () => {
  setup = await MatrixSetup.open();
  await setup.start();
});
afterEach(() => setup.close());

const bot = () => setup.server.rooms.bot;
const person = (name: string) => setup.server.rooms.person(name);

/** A room of one person, who invites the bot. */
function invites(name: string, isDirect: boolean): FakeRoom {
  const { rooms } = setup.server;
  const room = rooms.empty();
  rooms.member(room, person(name), 'join');
  rooms.member(room, bot(), 'invite', person(name), isDirect ? { is_direct: true } : {});
  return room;
}

const isIn = async (room: FakeRoom, membership: string): Promise<void> => {
  await vi.waitFor(() => expect(setup.server.rooms.membership(room, bot().id)).toBe(membership), WAIT);
};

it('joins the room of a stranger who writes to it alone, and reads what they wrote since, but not before', async () => {
  const { rooms } = setup.server;
  const room = rooms.empty();
  rooms.member(room, person('Eve'), 'join');
  setup.server.says(room, 'before the invitation', person('Eve'));
  rooms.member(room, bot(), 'invite', person('Eve'), { is_direct: true });
  setup.server.says(room, 'hello?', person('Eve'));
  await isIn(room, 'join');
  await vi.waitFor(() => expect(setup.contents).toEqual(['hello?']), WAIT);
  expect(setup.memberships).toMatchObject([
    { chatId: room.id, change: 'joined', place: 'private', byId: person('Eve').id },
  ]);
});

it('declines with a reason if strangers are not answered', async () => {
  setup.access = { ...setup.access, dm: 'allowlist' };
  const room = invites('Eve', true);
  await isIn(room, 'leave');
  await vi.waitFor(() => {
    const [content] = room.events.slice(-1).map((event) => event.content);
    expect(content?.['reason']).toContain('npx parley pair group matrix ROOM_ID');
  }, WAIT);
  setup.paired = [person('Eve').id];
  await isIn(invites('Eve', true), 'join');
});

it(`joins ${MAX_STRANGER_ROOMS} rooms of strangers in an hour, and any number of people whom it knows`, async () => {
  const rooms = Array.from({ length: MAX_STRANGER_ROOMS }, (_, n) => invites(`Eve ${n}`, true));
  for (const room of rooms) await isIn(room, 'join');
  const refused = invites('Mallory', true);
  await isIn(refused, 'leave');
  const reason = () => refused.events.at(-1)?.content['reason'];
  await vi.waitFor(() => expect(reason()).toContain('invite me again in an hour'), WAIT);
  setup.paired = [person('Ada').id];
  await isIn(invites('Ada', true), 'join');
});

it('joins a room of several only if it is allowed, or the person who invites may write to it', async () => {
  const declined = invites('Eve', false);
  await isIn(declined, 'leave');
  setup.groups = [declined.id];
  setup.server.rooms.member(declined, bot(), 'invite', person('Eve'));
  await isIn(declined, 'join');
  setup.paired = [person('Ada').id];
  await isIn(invites('Ada', false), 'join');
  await vi.waitFor(
    () => expect(setup.memberships.map(({ place }) => place)).toEqual(['group', 'group']),
    WAIT,
  );
});

it('answers an invitation that arrived while it was offline', async () => {
  await setup.channel.stop();
  const room = invites('Eve', true);
  setup.replace();
  await setup.start();
  await isIn(room, 'join');
  await vi.waitFor(
    () => expect(setup.memberships).toMatchObject([{ chatId: room.id, change: 'joined' }]),
    WAIT,
  );
});

it('notifies the gateway when it was removed from a room', async () => {
  const room = setup.server.rooms.room(person('Ada'));
  setup.server.rooms.member(room, bot(), 'leave', person('Ada'));
  await vi.waitFor(
    () => expect(setup.memberships).toMatchObject([{ chatId: room.id, change: 'left' }]),
    WAIT,
  );
});
