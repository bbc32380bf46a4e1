/** Who has the power of an administrator in a Matrix room. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';
import type { FakePerson, FakeRoom } from '../../fakes/matrix/rooms.ts';

let setup: MatrixSetup;
let creator: FakePerson;
let ada: FakePerson;
beforeEach(async () => {
  setup = await MatrixSetup.open();
  creator = setup.server.rooms.person('Creator');
  ada = setup.server.rooms.person('Ada');
});
afterEach(() => setup.close());

const isAdmin = async ({ id }: FakeRoom, person = ada): Promise<boolean | undefined> =>
  await setup.channel.isAdmin?.({ channel: 'matrix', chatId: id }, person.id);

describe('the administrators of a Matrix room', () => {
  it.each([
    ['with the power of a moderator', { own: 50 }, true],
    ['with less', { own: 49 }, false],
    ['with the power of everyone', { users_default: 50 }, true],
    ['who may not change the state', { own: 50, state_default: 75 }, false],
    ['who may change the state like everyone', { own: 10, state_default: 0 }, false],
    ['with a power written as text', { own: ' 100 ' }, true],
    ['with a power that is no number', { own: 'all', users_default: 0 }, false],
    ['with no power', {}, false],
  ])('are people %s: %j', async (_, { own, ...levels }: Record<string, unknown>, expected) => {
    const users = own === undefined ? {} : { [ada.id]: own };
    const room = setup.server.rooms.created(creator, { room_version: '9' }, { users, ...levels });
    expect(await isAdmin(room)).toBe(expected);
  });

  it('are its creators whatever the levels say, from room version 12 on', async () => {
    const { rooms } = setup.server;
    const levels = { users: { [ada.id]: 100 }, state_default: 150 };
    const others = { additional_creators: [ada.id] };
    expect(await isAdmin(rooms.created(creator, {}, levels), creator)).toBe(true);
    expect(await isAdmin(rooms.created(creator, {}, levels))).toBe(false);
    expect(await isAdmin(rooms.created(creator, others, levels))).toBe(true);
    expect(await isAdmin(rooms.created(creator, { ...others, room_version: '13' }, levels))).toBe(true);
    const old = rooms.created(creator, { ...others, room_version: '11' }, levels);
    expect([await isAdmin(old), await isAdmin(old, creator)]).toEqual([false, false]);
  });

  it('are the creator alone in a room that names no levels', async () => {
    const room = setup.server.rooms.created(creator, { room_version: '1' });
    expect([await isAdmin(room, creator), await isAdmin(room)]).toEqual([true, false]);
  });

  it('are unknown in a room that the bot is not in', async () => {
    const room = setup.server.rooms.created(creator);
    setup.server.rooms.member(room, setup.server.rooms.bot, 'leave', creator);
    expect(await failureOf(isAdmin(room, creator))).toMatchObject({ code: 'blocked', retryable: false });
  });
});
