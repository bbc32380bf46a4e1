/** Encrypted rooms ("End-to-End Encryption"): another person's client reads what the bot sends, and the homeserver does not. */
import { describe, expect, it, vi } from 'vitest';
import { MAX_UNREAD } from '../../../channels/matrix/unread.ts';
import { EncryptingClient } from '../../fakes/matrix/encrypting-client.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';
import { ada, expectUnseen, person, room, setup, WAIT, useEncryptedRoom } from './encrypted-room.ts';

useEncryptedRoom();

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
