/** What `parley doctor` finds out about the bot on Matrix. */
import { afterEach, expect, it } from 'vitest';
import { check } from '../../../channels/matrix/check.ts';
import { manifest } from '../../../channels/matrix/manifest.ts';
import { isId } from '../../../src/protocol/access.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';

let server: FakeHomeserver | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

it('names the account and its rooms', async () => {
  server = await FakeHomeserver.open();
  server.rooms.room(server.rooms.person('Ada'));
  const found = await check(server.root, MATRIX_TOKEN);
  expect(found).toEqual([
    { subject: 'Matrix', level: 'ok', text: `The token belongs to ${server.rooms.bot.id}, in 1 rooms.` },
    {
      subject: 'Matrix',
      level: 'ok',
      text: 'Its device FAKEDEVICE gets keys with the first encrypted room.',
    },
  ]);
});

it('explains what to do about a wrong token, a wrong address and a missing one, and never shows the token', async () => {
  server = await FakeHomeserver.open();
  const [wrong] = await check(server.root, 'syt_wrong_token');
  expect(wrong).toMatchObject({ level: 'error', remedy: expect.stringContaining('MATRIX_TOKEN') });
  const [away] = await check('http://127.0.0.1:9', MATRIX_TOKEN);
  expect(away).toMatchObject({ level: 'error', remedy: expect.stringContaining('MATRIX_URL') });
  const [none] = await check(undefined, MATRIX_TOKEN);
  expect(none).toMatchObject({ level: 'error', text: 'MATRIX_URL is not set.' });
  expect(JSON.stringify([wrong, away, none])).not.toContain(MATRIX_TOKEN);
});

it('recognizes the ids of Matrix in their original form, with and without a server', () => {
  const { userId, chatId } = manifest.ids ?? { userId: /^$/, chatId: /^$/ };
  for (const id of ['@ada:example.org', '@ada.l=ove/x:example.org:8448', '@ada:[::1]:8448'])
    expect(isId(id, userId)).toBe(true);
  for (const id of ['!garden:example.org', '!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM'])
    expect(isId(id, chatId)).toBe(true);
  for (const id of ['ada', '@ada', '!a b:c', '#alias:example.org', '@ada:exa mple']) {
    expect(isId(id, userId)).toBe(false);
    expect(isId(id, chatId)).toBe(false);
  }
});
