/** The bot in an encrypted room with Ada, whose client reads and writes it as Element does. */
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { EncryptingClient } from '../../fakes/matrix/encrypting-client.ts';
import type { FakePerson, FakeRoom } from '../../fakes/matrix/rooms.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

export const WAIT = { timeout: 20_000, interval: 10 };

export let setup: MatrixSetup;
export let ada: EncryptingClient;
export let room: FakeRoom;

/** Opens the room before each test of a file. */
export function useEncryptedRoom(): void {
  beforeEach(async () => {
    setup = await MatrixSetup.open();
    await setup.start();
    ada = await EncryptingClient.open(setup.server, person('Ada'));
    room = setup.server.rooms.room(person('Ada'));
    setup.server.rooms.encrypt(room, person('Ada'));
    await deviceIsPublished();
  });
  afterEach(async () => await setup.close());
}

export function person(name: string): FakePerson {
  return setup.server.rooms.person(name);
}

async function deviceIsPublished(): Promise<void> {
  const { keys, rooms } = setup.server;
  await vi.waitFor(() => expect(keys.deviceIds(rooms.bot.id)).toHaveLength(1), WAIT);
}

/** The homeserver has seen none of these words. */
export function expectUnseen(...words: string[]): void {
  const { traffic, rooms } = setup.server;
  const events = [...rooms.rooms.values()].map((one) => one.events);
  const everything = [...traffic, JSON.stringify(events)].join('\n');
  for (const word of words) expect(everything).not.toContain(word);
}
