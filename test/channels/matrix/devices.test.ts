/** The device of a bot on Matrix: the same one in every process, on every node, and known to others as the account's. */
import { describe, expect, it, vi } from 'vitest';
import { check } from '../../../channels/matrix/check.ts';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import { EncryptingClient } from '../../fakes/matrix/encrypting-client.ts';
import { MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';
import { DEVICE } from '../../fakes/matrix/rooms.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';
import { ada, person, room, setup, WAIT, useEncryptedRoom } from './encrypted-room.ts';

useEncryptedRoom();

it('has the same device with the same keys after a restart, and gives away no one-time key twice', async () => {
  await ada.says(room, 'before');
  await vi.waitFor(() => expect(setup.contents).toEqual(['before']), WAIT);
  await setup.channel.send(setup.part(room.id, 'one'));
  await setup.restart();
  const ben = await EncryptingClient.open(setup.server, person('Ben'));
  const other = setup.server.rooms.room(person('Ben'));
  setup.server.rooms.encrypt(other, person('Ben'));
  await ben.says(other, 'after');
  await vi.waitFor(() => expect(setup.contents).toEqual(['before', 'after']), WAIT);
  await setup.channel.send(setup.part(room.id, 'two'));
  expect(await ada.screen(room)).toEqual(['one', 'two']);
  expect(await ben.screen(other)).toEqual([]);
  const { keys, rooms } = setup.server;
  expect(keys.deviceIds(rooms.bot.id)).toEqual([DEVICE]);
  expect(new Set(keys.uploaded).size).toBe(keys.uploaded.length);
  expect(new Set(keys.claimed).size).toBe(keys.claimed.length);
});

it('sends one event if the answer to it is lost and the process begins anew', async () => {
  const failures = Array.from({ length: 2 }, () => ({
    match: /send\/m\.room\.encrypted/,
    kind: 'drop' as const,
  }));
  setup.server.failures.push(...failures);
  await expect(setup.channel.send(setup.part(room.id, 'only once'))).rejects.toMatchObject({
    retryable: true,
  });
  await setup.restart();
  await setup.channel.send(setup.part(room.id, 'only once'));
  expect(await ada.screen(room)).toEqual(['only once']);
});

it('lets two nodes send to one room, each with what the other has stored', async () => {
  const first = setup.channel;
  setup.replace();
  const second = setup.channel;
  const words = Array.from({ length: 12 }, (_one, n) => `message ${n}`);
  await Promise.all(
    words.map(async (word, n) => await (n % 2 === 0 ? first : second).send(setup.part(room.id, word))),
  );
  expect(new Set(await ada.screen(room))).toEqual(new Set(words));
  expect(await ada.screen(room)).toHaveLength(words.length);
  await second.stop();
  setup.channel = first;
});

it('stores nothing in clear: not the keys, not what was sent', async () => {
  await setup.channel.send(setup.part(room.id, 'moonbeam'));
  const records = [...setup.keys.devices.values()].flatMap((one) => [...one.records]);
  const clear = records.map(([key, value]) => `${key} ${Buffer.from(value).toString('latin1')}`).join('\n');
  expect(records.length).toBeGreaterThan(5);
  for (const word of ['moonbeam', 'private_key', 'curve25519', MATRIX_TOKEN])
    expect(clear).not.toContain(word);
  expect(setup.log.join('\n')).not.toContain('moonbeam');
});

describe('an account', () => {
  it('gets cross-signing keys from its first device, so that clients see it as verified', async () => {
    const { keys, rooms } = setup.server;
    await vi.waitFor(() => expect(keys.isSigned(rooms.bot.id, DEVICE)).toBe(true), WAIT);
  });

  it('that was used with Element verifies the device with its recovery key, and only with the right one', async () => {
    const fresh = await MatrixSetup.open();
    const { keys, rooms } = fresh.server;
    try {
      const element = await EncryptingClient.open(fresh.server, rooms.bot, 'ELEMENT');
      const recoveryKey = await element.setUpRecovery();
      const other = fresh.server.rooms.room(fresh.server.rooms.person('Ada'));
      fresh.recoveryKey = `${recoveryKey.slice(0, -1)}${recoveryKey.endsWith('1') ? '2' : '1'}`;
      fresh.replace();
      await fresh.start();
      rooms.encrypt(other, fresh.server.rooms.person('Ada'));
      await vi.waitFor(() => expect(fresh.log.join()).toContain('matrix_recovery_failed'), WAIT);
      expect(keys.isSigned(rooms.bot.id, DEVICE)).toBe(false);
      expect(await check(fresh.server.root, MATRIX_TOKEN)).toMatchObject([
        { level: 'ok' },
        { level: 'warning', remedy: expect.stringContaining('MATRIX_RECOVERY_KEY') },
      ]);
      fresh.recoveryKey = recoveryKey;
      await fresh.restart();
      await vi.waitFor(() => expect(keys.isSigned(rooms.bot.id, DEVICE)).toBe(true), WAIT);
      const [, device] = await check(fresh.server.root, MATRIX_TOKEN);
      expect(device?.text).toMatch(/^Its device FAKEDEVICE is verified\. Its key: (?:\S{4} ){10}\S{3}$/);
      expect(fresh.log.join()).not.toContain(recoveryKey.slice(0, 9));
    } finally {
      await fresh.close();
    }
  });

  it('whose homeserver asks for a password works unverified', async () => {
    const fresh = await MatrixSetup.open();
    try {
      fresh.server.keys.asksPassword = true;
      await fresh.start();
      const person = fresh.server.rooms.person('Ada');
      const other = fresh.server.rooms.room(person);
      fresh.server.rooms.encrypt(other, person);
      await vi.waitFor(() => expect(fresh.log.join()).toContain('matrix_device_not_signed'), WAIT);
      const client = await EncryptingClient.open(fresh.server, person);
      await client.says(other, 'hello');
      await vi.waitFor(() => expect(fresh.contents).toEqual(['hello']), WAIT);
    } finally {
      await fresh.close();
    }
  });

  it('whose keys are lost says what to do, and still answers in rooms without encryption', async () => {
    await setup.channel.stop();
    setup.keys.devices.clear();
    setup.replace();
    await setup.start();
    const failure = await failureOf(setup.channel.send(setup.part(room.id, 'moonbeam')));
    expect(failure).toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('log the bot in again'),
    });
    const plain = setup.server.rooms.room(person('Ben'));
    setup.server.says(plain, 'hello', person('Ben'));
    await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
    await setup.channel.send(setup.part(plain.id, 'hello Ben'));
    expect(setup.server.screen(plain)).toEqual(['hello Ben']);
    expect(setup.server.traffic.join()).not.toContain('moonbeam');
    await ada.says(room, 'are you there?');
    await vi.waitFor(() => expect(setup.server.screen(room).join()).toContain('new login'), WAIT);
    expect(setup.channel.health()).toMatchObject({ state: 'degraded', detail: { key: 'health.keys' } });
  });
});
