/** The keys with which the bot reads encrypted rooms are bounded: the oldest make room for new ones. */
import { afterEach, expect, it, vi } from 'vitest';
import { EncryptingClient } from '../../fakes/matrix/encrypting-client.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

const WAIT = { timeout: 20_000, interval: 10 };
const MOST = 3;
const ROOM_KEY = /inbound_group_sessions\d*"/;

let setup: MatrixSetup | undefined;
afterEach(async () => await setup?.close());

it('removes the oldest key beyond the bound, says so in the log and in the status, also of keys from before a restart', async () => {
  const own = (setup = await MatrixSetup.open({ timing: { maxRoomKeys: MOST } }));
  await own.start();
  const person = own.server.rooms.person('Ada');
  const ada = await EncryptingClient.open(own.server, person);
  const stored = () =>
    [...own.keys.devices.values()].flatMap(({ records }) =>
      [...records.keys()].filter((key) => ROOM_KEY.test(key)),
    );
  const asks = async (count: number): Promise<string[]> => {
    const room = own.server.rooms.room(person);
    own.server.rooms.encrypt(room, person);
    // Only a device that others know gets their keys.
    await vi.waitFor(() => expect(own.server.keys.deviceIds(own.server.rooms.bot.id)).toHaveLength(1), WAIT);
    await ada.says(room, `question ${count}`);
    await vi.waitFor(() => expect(own.contents).toHaveLength(count), WAIT);
    return stored();
  };
  const [first = ''] = await asks(1);
  await asks(2);
  expect(await asks(MOST)).toHaveLength(MOST);
  expect(own.channel.health()).toEqual({ state: 'up' });
  await own.restart();
  await asks(MOST + 1);
  await vi.waitFor(() => expect(stored()).toHaveLength(MOST), WAIT);
  expect(stored()).not.toContain(first);
  expect(own.log.join('\n')).toMatch(/"count":1,"most":3.*matrix_room_keys_dropped/);
  expect(JSON.stringify(own.channel.health())).toContain('health.keys_dropped');
});
