/** Commands in the menu of a message: what is remembered about them, and how much they read. */
import { expect, it } from 'vitest';
import { ASK_ABOUT, SUMMARISE } from '../../../../channels/discord/interactions/commands.ts';
import { MAX_SUMMARISED, MAX_TARGETS, OnMessages } from '../../../../channels/discord/interactions/menus.ts';
import { readInteraction } from '../../../../channels/discord/interactions/read.ts';
import { ChannelError } from '../../../../src/protocol/errors.ts';
import { restOf } from '../../../fakes/discord/partial.ts';
import { inEnglish } from '../../../../src/protocol/texts/say.ts';

const user = { id: '5', username: 'ada' };
const at = { application_id: '9', token: 'a token', channel_id: '11', guild_id: '12', member: { user } };
const message = (id: number, content: string): object => ({
  id: `${id}`,
  channel_id: '11',
  author: { id: '6', username: 'bob' },
  content,
  timestamp: '2026-01-01T00:00:00Z',
  type: 0,
});

function command(name: string, id: number) {
  const resolved = { messages: { [id]: message(id, `words ${id}`) } };
  const read = readInteraction({
    ...at,
    id: '70',
    type: 2,
    data: { name, type: 3, target_id: `${id}`, resolved },
  });
  if (read?.kind !== 'message_command') throw new Error('not a command');
  return read.interaction;
}

function filled(id: number) {
  const components = [{ type: 18, component: { type: 4, custom_id: 'question', value: 'why?' } }];
  const read = readInteraction({ ...at, id: '71', type: 5, data: { custom_id: `about:${id}`, components } });
  if (read?.kind !== 'form') throw new Error('not a form');
  return read.interaction;
}

it(`the messages of the ${MAX_TARGETS} newest forms are remembered, and the others are requested from Discord`, async () => {
  const asked: string[] = [];
  const call = ({ path }: { path: string }): Promise<unknown> => {
    asked.push(path);
    return Promise.resolve(message(0, 'read again'));
  };
  const onMessages = new OnMessages(restOf(call), () => 0);
  for (let n = 0; n <= MAX_TARGETS; n += 1) onMessages.formOf(command(ASK_ABOUT, n), inEnglish);
  expect(await onMessages.question(filled(1), '2')).toMatchObject({
    content: 'why?',
    quoted: { text: 'words 1' },
  });
  expect(asked).toEqual([]);
  expect(await onMessages.question(filled(0), '2')).toMatchObject({ quoted: { text: 'read again' } });
  expect(asked).toEqual(['/channels/11/messages/0']);
});

it('a message that Discord no longer returns is reported as unreadable', async () => {
  const call = (): Promise<unknown> => Promise.reject(new ChannelError('message_gone', 'gone'));
  const onMessages = new OnMessages(restOf(call), () => 0);
  await expect(onMessages.question(filled(3), '2')).rejects.toMatchObject({ code: 'cannot_read' });
});

it.each([
  [MAX_SUMMARISED - 1, false],
  [MAX_SUMMARISED, true],
])('a summary of a message and %i later ones says whether more was said', async (count, more) => {
  const later = Array.from({ length: count }, (_, n) => message(100 + n, `later ${n}`));
  const onMessages = new OnMessages(
    restOf(() => Promise.resolve(later.toReversed())),
    () => 0,
  );
  const asked = await onMessages.summary(command(SUMMARISE, 4), inEnglish);
  expect(asked?.quoted?.text).toMatch(/^bob: words 4\nbob: later 0\n/);
  expect(asked?.content.includes('More was said')).toBe(more);
  expect(asked?.content).not.toContain('left out');
});

it('a summary of long texts says that their middle is left out', async () => {
  const later = [message(100, 'x'.repeat(9_000))];
  const onMessages = new OnMessages(
    restOf(() => Promise.resolve(later)),
    () => 0,
  );
  expect((await onMessages.summary(command(SUMMARISE, 4), inEnglish))?.content).toContain(
    'middle is left out',
  );
});
