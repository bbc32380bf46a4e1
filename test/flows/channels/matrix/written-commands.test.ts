/** Commands in replies are written in the network's syntax: on Matrix with an exclamation mark, never with a slash. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ENGLISH } from '../../../../src/protocol/texts/english.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../../fakes/matrix/homeserver.ts';
import { describeGateway, WAIT } from '../../setup.ts';
import { COMMANDS } from '../../languages/every-command.ts';

const server = await FakeHomeserver.open({});
const env = { MATRIX_URL: server.root, MATRIX_TOKEN };
afterAll(() => server.close());
const person = server.rooms.person('Mara');
const room = server.rooms.room(person);

const names = Object.keys(ENGLISH).flatMap((key) => /^about\.(\w+)$/.exec(key)?.[1] ?? []);
const WITH_SLASH = new RegExp(`(?<![\\w/.])/(?:${names.join('|')})\\b(?![/.])`, 'g');

const file = {
  access: { owners: { matrix: [person.id] } },
  // This checks the texts, not the pace of a room or of the account.
  channels: { matrix: { editIntervalMs: 1, eventsPerSecond: { start: 1_000, most: 1_000 } } },
  limits: { messagesPerMinute: 6_000, messagesAtOnce: 1_000 },
};

describeGateway('Matrix', { env, file, model: { fallback: 'Fine.' } }, (fixture) => {
  beforeAll(async () => await fixture().store.access.addGrant('matrix', 'dm', person.id));

  // The reply to `/link` shows the syntax of the other networks.
  const here = COMMANDS.filter((command) => command !== '/link');
  it.each(here)('writes no command with a slash in the reply to %s', async (command) => {
    const before = server.screen(room).length;
    server.says(room, command.replace('/', '!'), person);
    await vi.waitFor(() => expect(server.screen(room).length).toBeGreaterThan(before), WAIT);
    const replies = server.screen(room).slice(before).join('\n');
    expect(replies.match(WITH_SLASH)).toBeNull();
  });
});
