/** What grows with use stays within its limits: rooms at once, names, known events, buttons, nesting. */
import type { BlockContent, Root } from 'mdast';
import { afterEach, expect, it, vi } from 'vitest';
import type { MatrixClient } from '../../../channels/matrix/client.ts';
import { MAX_ANSWER_BYTES } from '../../../src/lib/async/http-stream.ts';
import { Encryption } from '../../../channels/matrix/encryption/encryption.ts';
import { MAX_BUTTONS } from '../../../channels/matrix/content.ts';
import { MAX_NAMES, MAX_ROOMS, Replacements, Rooms } from '../../../channels/matrix/rooms.ts';
import { ROOMS_AT_ONCE } from '../../../channels/matrix/receiving.ts';
import { render } from '../../../channels/matrix/render.ts';
import { MAX_DEPTH } from '../../../src/lib/markdown/html.ts';
import { MAX_KNOWN, Sending } from '../../../channels/matrix/sending.ts';
import { silentLog } from '../../database.ts';
import { MemoryKeys } from '../../fakes/stores/keys.ts';
import { readHtml } from '../../fakes/matrix/html.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';
import { ACCEPTED } from '../../fakes/gateway/channel-setup.ts';

let setup: MatrixSetup | undefined;
afterEach(async () => {
  await setup?.close();
  setup = undefined;
});

/** A homeserver that answers every call alike, and counts them. */
function counting(answer: (path: string) => unknown) {
  const calls: string[] = [];
  const call = (_method: string, path: string): Promise<unknown> => {
    calls.push(path);
    return Promise.resolve(answer(path));
  };
  return { calls, client: { call } as unknown as MatrixClient };
}

it('requests the members and the name again only for those requested longest ago', async () => {
  const { calls, client } = counting(() => ({ joined: { a: {}, b: {} }, displayname: 'Ada' }));
  const replacements = new Replacements(client, () => 0);
  vi.spyOn(replacements, 'predecessorOf').mockResolvedValue(undefined);
  const rooms = new Rooms(client, replacements, () => 0);
  for (let n = 0; n <= MAX_ROOMS; n += 1) await rooms.placeOf(`!${n}`);
  for (let n = 0; n <= MAX_NAMES; n += 1) await rooms.nameOf('!room', `@${n}:fake.test`);
  calls.length = 0;
  await rooms.placeOf(`!${MAX_ROOMS}`);
  await rooms.nameOf('!room', `@${MAX_NAMES}:fake.test`);
  expect(calls).toHaveLength(0);
  await rooms.placeOf('!0');
  await rooms.nameOf('!room', '@0:fake.test');
  expect(calls).toHaveLength(2);
});

it('forgets the events it has sent, the oldest first', async () => {
  const { calls, client } = counting((path) => (path.includes('/send/') ? { event_id: '$one' } : {}));
  const replacements = new Replacements(client, () => 0);
  const monotonicMs = () => 0;
  const encryption = new Encryption({
    client,
    keys: new MemoryKeys(),
    token: 'x',
    log: silentLog,
    monotonicMs,
    maxRoomKeys: 1,
  });
  const sending = new Sending(client, replacements, encryption, monotonicMs);
  const place = { channel: 'matrix', chatId: '!garden' };
  const content = { msgtype: 'm.text', body: 'x', 'm.mentions': {} };
  for (let n = 0; n <= MAX_KNOWN; n += 1) await sending.send(place, content, `nonce ${n}`);
  const sends = async (nonce: string): Promise<number> => {
    calls.length = 0;
    await sending.send(place, content, nonce);
    return calls.filter((path) => path.includes('/send/')).length;
  };
  expect(await sends(`nonce ${MAX_KNOWN}`)).toBe(0);
  expect(await sends('nonce 0')).toBe(1);
});

it('commits messages of this many rooms at once, and one after the other in each', async () => {
  setup = await MatrixSetup.open();
  const { server, received } = setup;
  const { promise, resolve } = Promise.withResolvers<void>();
  setup.verdict = async () => {
    await promise;
    return ACCEPTED;
  };
  const ada = server.rooms.person('Ada');
  const all = Array.from({ length: ROOMS_AT_ONCE + 1 }, () => server.rooms.room(ada));
  await setup.start();
  await setup.channel.stop();
  for (const room of all) for (const text of ['one', 'two']) server.says(room, text, ada);
  setup.replace();
  await setup.start();
  await vi.waitFor(() => expect(received).toHaveLength(ROOMS_AT_ONCE), { timeout: 5_000, interval: 5 });
  for (let n = 0; n < 25; n += 1) await new Promise((next) => setImmediate(next));
  expect(received.map(({ content }) => content)).toEqual(Array.from({ length: ROOMS_AT_ONCE }, () => 'one'));
  resolve();
  await vi.waitFor(() => expect(received).toHaveLength(2 * all.length), { timeout: 5_000, interval: 5 });
});

it('shows as many buttons as an event holds, and says that there are more', async () => {
  setup = await MatrixSetup.open();
  const room = setup.server.rooms.room(setup.server.rooms.person('Ada'));
  const buttons = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ label: `B${n + 1}`, value: `v${n + 1}` }));
  await setup.channel.send(setup.part(room.id, 'all', { buttons: buttons(MAX_BUTTONS) }));
  await setup.channel.send(setup.part(room.id, 'more', { buttons: buttons(MAX_BUTTONS + 2) }));
  const [all = '', more = ''] = setup.server.screen(room);
  expect(all).toContain('🔟 B10\u200311. B11');
  expect(all.endsWith(`${MAX_BUTTONS}. B${MAX_BUTTONS}`)).toBe(true);
  expect(more.endsWith(`${MAX_BUTTONS}. B${MAX_BUTTONS}\u2003… (2 more)`)).toBe(true);
});

it('shows what is nested deeper than clients show as text', () => {
  let inside: BlockContent = { type: 'paragraph', children: [{ type: 'text', value: 'deep down' }] };
  for (let n = 0; n <= MAX_DEPTH * 2; n += 1)
    inside = { type: 'list', children: [{ type: 'listItem', children: [inside] }] };
  const doc: Root = { type: 'root', children: [inside] };
  expect(readHtml(render(doc).text)).toBe('deep down');
});

it('reads what is new even if it is too long for one answer: strangers filled their rooms while it was away', async () => {
  setup = await MatrixSetup.open();
  const { server, received } = setup;
  const [ada, eve] = [server.rooms.person('Ada'), server.rooms.person('Eve')];
  const room = server.rooms.room(ada);
  const [pageful, eventBytes] = [50, 60_000];
  const count = Math.ceil(MAX_ANSWER_BYTES / pageful / eventBytes) + 1;
  const filled = Array.from({ length: count }, () => server.rooms.room(eve));
  await setup.start();
  await setup.channel.stop();
  for (const one of filled)
    for (let n = 0; n < pageful; n += 1) server.says(one, 'x'.repeat(eventBytes), eve);
  for (const text of ['are you', 'still there?']) server.says(room, text, ada);
  setup.replace();
  await setup.start();
  const total = count * pageful + 2;
  await vi.waitFor(() => expect(received).toHaveLength(total), { timeout: 60_000, interval: 50 });
  const fromAda = received.filter(({ chatId }) => chatId === room.id).map(({ content }) => content);
  expect(fromAda).toEqual(['are you', 'still there?']);
}, 90_000);
