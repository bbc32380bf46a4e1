/** Encrypted rooms ("End-to-End Encryption"): another person's client reads what the bot sends, and the homeserver does not. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Attachment, EncryptedAttachment } from '@matrix-org/matrix-sdk-crypto-wasm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { check } from '../../../channels/matrix/check.ts';
import { MAX_UNREAD } from '../../../channels/matrix/unread.ts';
import type { Media } from '../../../src/protocol/media.ts';
import { failureOf } from '../../fakes/gateway/channel-setup.ts';
import { EncryptingClient } from '../../fakes/matrix/encrypting-client.ts';
import { MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';
import { DEVICE, type FakePerson, type FakeRoom } from '../../fakes/matrix/rooms.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';

const WAIT = { timeout: 20_000, interval: 10 };

let setup: MatrixSetup;
let ada: EncryptingClient;
let room: FakeRoom;
const person = (name: string): FakePerson => setup.server.rooms.person(name);

beforeEach(async () => {
  setup = await MatrixSetup.open();
  await setup.start();
  ada = await EncryptingClient.open(setup.server, person('Ada'));
  room = setup.server.rooms.room(person('Ada'));
  setup.server.rooms.encrypt(room, person('Ada'));
  await deviceIsPublished();
});
afterEach(async () => await setup.close());

async function deviceIsPublished(): Promise<void> {
  await vi.waitFor(
    () => expect(setup.server.keys.deviceIds(setup.server.rooms.bot.id)).toHaveLength(1),
    WAIT,
  );
}

/** The homeserver has seen none of these words. */
function expectUnseen(...words: string[]): void {
  const { traffic, rooms } = setup.server;
  const everything = [...traffic, JSON.stringify([...rooms.rooms.values()].map(({ events }) => events))].join(
    '\n',
  );
  for (const word of words) expect(everything).not.toContain(word);
}

it('reads what a person writes, and answers so that only the people of the room can read it', async () => {
  await ada.says(room, 'What rhymes with "moonbeam"?');
  await vi.waitFor(() => expect(setup.contents).toEqual(['What rhymes with "moonbeam"?']), WAIT);
  const sent = await setup.channel.send(setup.part(room.id, '**Sunbeam**'));
  await setup.channel.edit?.(sent, setup.part(room.id, '**Sunbeam** and daydream'));
  expect(await ada.screen(room)).toEqual(['Sunbeam and daydream']);
  expectUnseen('moonbeam', 'Sunbeam', 'daydream');
});

it('encrypts from the moment a room switches encryption on, which nothing switches off', async () => {
  const plain = setup.server.rooms.room(person('Ada'));
  await setup.channel.send(setup.part(plain.id, 'for everyone'));
  setup.server.rooms.encrypt(plain, person('Ada'));
  setup.server.says(plain, 'seen', person('Ada'));
  await vi.waitFor(() => expect(setup.contents).toEqual(['seen']), WAIT);
  setup.server.rooms.add(plain, {
    type: 'm.room.encryption',
    sender: person('Ada').id,
    state_key: '',
    content: {},
  });
  await setup.channel.send(setup.part(plain.id, 'for Ada'));
  expect(setup.server.screen(plain)).toEqual(['for everyone']);
  expect(await ada.screen(plain)).toEqual(['for Ada']);
});

it('has its keys before it enters an encrypted room, so that the first message there is for it, too', async () => {
  const fresh = await MatrixSetup.open();
  try {
    await fresh.start();
    const { rooms, calls } = fresh.server;
    const eve = rooms.person('Eve');
    const chat = rooms.empty();
    rooms.member(chat, eve, 'join');
    rooms.encrypt(chat, eve);
    rooms.member(chat, rooms.bot, 'invite', eve, { is_direct: true });
    await vi.waitFor(() => expect(rooms.membership(chat, rooms.bot.id)).toBe('join'), WAIT);
    const at = (part: string): number => calls.findIndex((call) => call.includes(part));
    expect(at('/keys/upload')).toBeGreaterThan(0);
    expect(at('/keys/upload')).toBeLessThan(at('/join'));
    const client = await EncryptingClient.open(fresh.server, eve);
    await client.says(chat, 'hello?');
    await vi.waitFor(() => expect(fresh.contents).toEqual(['hello?']), WAIT);
  } finally {
    await fresh.close();
  }
});

it('reads what was written while it was offline, in order, also what a sync leaves out', async () => {
  await setup.channel.stop();
  const lines = Array.from({ length: 60 }, (_one, n) => `line ${n}`);
  for (const line of lines) await ada.says(room, line);
  setup.replace();
  await setup.start();
  await vi.waitFor(() => expect(setup.contents).toEqual(lines), WAIT);
});

it('encrypts also if the homeserver denies later that the room is encrypted', async () => {
  await setup.channel.send(setup.part(room.id, 'one'));
  room.state.delete('m.room.encryption ');
  await setup.restart();
  await setup.channel.send(setup.part(room.id, 'two'));
  expect(await ada.screen(room)).toEqual(['one', 'two']);
  expect(setup.server.screen(room)).toEqual([]);
});

it('takes no request to verify its device for a question', async () => {
  const body = 'Ada is requesting to verify your key.';
  await ada.says(room, { msgtype: 'm.key.verification.request', body, to: setup.server.rooms.bot.id });
  await ada.says(room, 'hello');
  await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
});

it('shows buttons that reactions and replies press', async () => {
  const buttons = [
    { label: 'Approve', value: 'yes', style: 'confirm' as const },
    { label: 'Deny', value: 'no', style: 'danger' as const },
  ];
  const { id } = await setup.channel.send(setup.part(room.id, 'Delete the attic?', { buttons }));
  setup.server.reacts(room, id, '2️⃣', person('Ada'));
  await vi.waitFor(() => expect(setup.received).toMatchObject([{ button: 'no', buttonUnder: { id } }]), WAIT);
  await ada.says(room, {
    msgtype: 'm.text',
    body: 'approve',
    'm.relates_to': { 'm.in_reply_to': { event_id: id } },
  });
  await vi.waitFor(() => expect(setup.received.at(-1)).toMatchObject({ button: 'yes' }), WAIT);
  expectUnseen('attic', 'Approve');
});

it('keeps replies, threads and what stands above readable', async () => {
  const root = await ada.says(room, 'Shall we plant leeks?');
  const { event_id: thread } = root;
  const inThread = {
    rel_type: 'm.thread',
    event_id: thread,
    is_falling_back: true,
    'm.in_reply_to': { event_id: thread },
  };
  await ada.says(room, { msgtype: 'm.text', body: 'Or beans?', 'm.relates_to': inThread });
  await vi.waitFor(
    () =>
      expect(setup.received.map(({ place, threadId }) => [place, threadId])).toEqual([
        ['private', undefined],
        ['private', thread],
      ]),
    WAIT,
  );
  const place = { channel: 'matrix', chatId: room.id, threadId: thread };
  const above = await setup.channel.before?.(place, undefined, 10);
  expect(above?.map(({ content }) => content)).toEqual(['Shall we plant leeks?', 'Or beans?']);
});

it('edits of a person reach the gateway in clear', async () => {
  const { event_id: about } = await ada.says(room, 'K');
  const fresh = { msgtype: 'm.text', body: 'King Arthur' };
  await ada.says(room, {
    ...fresh,
    body: '* King Arthur',
    'm.new_content': fresh,
    'm.relates_to': { rel_type: 'm.replace', event_id: about },
  });
  await vi.waitFor(
    () =>
      expect(setup.received.at(-1)).toMatchObject({ content: 'King Arthur', isEdit: true, messageId: about }),
    WAIT,
  );
});

it('fits the longest edit into an encrypted event', async () => {
  const { maxLength } = setup.channel.capabilities;
  const sent = await setup.channel.send(setup.part(room.id, '…'));
  const longest = '漢'.repeat(maxLength - 1);
  await setup.channel.edit?.(sent, setup.part(room.id, longest));
  await setup.channel.edit?.(sent, setup.part(room.id, `**${longest}**`));
  const markup = '_a_ '.repeat(Math.floor(maxLength / 4));
  await setup.channel.edit?.(sent, setup.part(room.id, markup.trim()));
  expect((await ada.screen(room))[0]).toHaveLength(markup.trim().length);
});

describe('files', () => {
  it('of a person are decrypted, and refused if the homeserver changed them', async () => {
    const sealed = sealedFile(Buffer.from('the minutes of the meeting'));
    const event = setup.server.rooms.media;
    event.set('sealed', { bytes: sealed.bytes, mimeType: 'application/octet-stream', name: '' });
    const file = { ...sealed.file, url: 'mxc://fake.test/sealed' };
    await ada.says(room, {
      msgtype: 'm.file',
      body: 'minutes.txt',
      file,
      info: { mimetype: 'text/plain', size: 26 },
    });
    await vi.waitFor(
      () => expect(setup.received[0]?.media).toMatchObject([{ name: 'minutes.txt', mimeType: 'text/plain' }]),
      WAIT,
    );
    const [media] = setup.received[0]?.media ?? [];
    if (media === undefined) throw new Error('no file');
    expect(media.url).not.toContain(sealed.file.key.k);
    expect(await text(media)).toBe('the minutes of the meeting');
    event.set('sealed', { bytes: Buffer.from('something else'), mimeType: '', name: '' });
    await expect(text(media)).rejects.toMatchObject({ code: 'rejected' });
  });

  it('of the bot can be read by the people of the room alone', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'parley-')), 'plan.txt');
    await writeFile(path, 'plant leeks');
    const file = {
      kind: 'file' as const,
      name: 'plan.txt',
      mimeType: 'text/plain',
      bytes: 11,
      path,
      nonce: 'f',
    };
    const { id } = (await setup.channel.sendFile?.({ channel: 'matrix', chatId: room.id, ...file })) ?? {};
    const event = room.events.find(({ event_id }) => event_id === id);
    if (event === undefined) throw new Error('no event');
    const content = Sealed.parse(await ada.reads(room, event));
    const stored = setup.server.rooms.media.get(content.file.url.split('/').at(-1) ?? '');
    const encrypted = new EncryptedAttachment(stored?.bytes ?? Buffer.of(), JSON.stringify(content.file));
    expect(Buffer.from(Attachment.decrypt(encrypted)).toString()).toBe('plant leeks');
    expectUnseen('plant leeks', 'plan.txt');
    await rm(dirname(path), { recursive: true });
  });

  const Sealed = z.looseObject({
    filename: z.literal('plan.txt'),
    file: z.looseObject({ url: z.string(), v: z.literal('v2') }),
  });

  /** As Element seals it. */
  function sealedFile(bytes: Buffer): { bytes: Buffer; file: { key: { k: string } } } {
    const sealed = Attachment.encrypt(bytes);
    return { bytes: Buffer.from(sealed.encryptedData), file: JSON.parse(sealed.mediaEncryptionInfo ?? '') };
  }

  async function text(media: Media): Promise<string> {
    const signal = new AbortController().signal;
    const bytes = await setup.channel.download?.(media, signal);
    return bytes === undefined ? '' : String(await buffer(bytes));
  }
});

describe('a message whose key is missing', () => {
  it('is answered when the key arrives, also across a restart', async () => {
    setup.server.keys.holdsToDevice = true;
    await ada.says(room, 'What about leeks?');
    setup.server.says(room, 'in clear', person('Ada'));
    await vi.waitFor(() => expect(setup.contents).toEqual(['in clear']), WAIT);
    await setup.restart();
    setup.server.keys.release();
    await vi.waitFor(() => expect(setup.contents).toEqual(['in clear', 'What about leeks?']), WAIT);
    await vi.waitFor(
      () =>
        expect(
          setup.chatSettings.settings.get(`matrix:${room.id.replaceAll(':', '=3A')} matrix_unread`),
        ).toBeUndefined(),
      WAIT,
    );
  });

  it('is reported in the room once, also to those who send several, and read once it is sent again', async () => {
    const recipients = [person('Ada').id];
    await ada.says(room, 'one', recipients);
    await ada.says(room, 'two', recipients);
    await expect.poll(async () => await ada.screen(room), WAIT).toHaveLength(1);
    expect((await ada.screen(room))[0]).toContain('Send it again');
    await setup.restart();
    await ada.says(room, 'three', recipients);
    await ada.forgetKeyOf(room);
    await ada.says(room, 'again');
    await vi.waitFor(() => expect(setup.contents).toEqual(['again']), WAIT);
    expect(await ada.screen(room)).toHaveLength(1);
  });

  it('is one of at most 20 in a room that are kept', async () => {
    for (let n = 0; n <= MAX_UNREAD; n += 1) await ada.says(room, `${n}`, [person('Ada').id]);
    const ids = room.events
      .filter(({ type, sender }) => type === 'm.room.encrypted' && sender === person('Ada').id)
      .map(({ event_id }) => event_id);
    const stored = () => [...setup.chatSettings.settings].find(([key]) => key.endsWith('matrix_unread'))?.[1];
    await vi.waitFor(() => expect(JSON.parse(stored() ?? '[]')).toEqual(ids.slice(1)), WAIT);
  });
});

it('gives no further keys to people who left, nor the earlier ones to those who came later', async () => {
  const ben = await EncryptingClient.open(setup.server, person('Ben'));
  const cleo = await EncryptingClient.open(setup.server, person('Cleo'));
  setup.server.rooms.member(room, person('Ben'), 'join');
  await setup.channel.send(setup.part(room.id, 'to Ada and Ben'));
  setup.server.rooms.member(room, person('Ben'), 'leave');
  setup.server.rooms.member(room, person('Cleo'), 'join');
  setup.server.says(room, 'noticed', person('Ada'));
  await vi.waitFor(() => expect(setup.contents).toEqual(['noticed']), WAIT);
  await setup.channel.send(setup.part(room.id, 'to Ada and Cleo'));
  expect(await ada.screen(room)).toEqual(['to Ada and Ben', 'to Ada and Cleo']);
  expect(await ben.screen(room)).toEqual(['to Ada and Ben', null]);
  expect(await cleo.screen(room)).toEqual([null, 'to Ada and Cleo']);
});

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
    const failure = await failureOf(setup.channel.send(setup.part(room.id, 'secret')));
    expect(failure).toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('log the bot in again'),
    });
    const plain = setup.server.rooms.room(person('Ben'));
    setup.server.says(plain, 'hello', person('Ben'));
    await vi.waitFor(() => expect(setup.contents).toEqual(['hello']), WAIT);
    await setup.channel.send(setup.part(plain.id, 'hello Ben'));
    expect(setup.server.screen(plain)).toEqual(['hello Ben']);
    expectUnseen('secret');
    await ada.says(room, 'are you there?');
    await vi.waitFor(() => expect(setup.server.screen(room).join()).toContain('log me in again'), WAIT);
  });
});
