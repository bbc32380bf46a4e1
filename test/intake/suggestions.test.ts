/** Suggestions for arguments of commands. */
import { partial } from '../fakes/partial.ts';
import { expect, it } from 'vitest';
import { type Command, MAX_SUGGESTIONS } from '../../src/protocol/command.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import { createSuggest } from '../../src/intake/commands.ts';
import { namesLike } from '../../src/lib/text.ts';

const message = (content: string): InboundMessage => ({
  id: '1',
  channel: 'discord',
  chatId: '11',
  senderId: '5',
  content,
  timestamp: 0,
  media: [],
  place: 'private',
  mentioned: true,
});

function suggest(found: readonly string[], isAllowed = true) {
  const commands: Command[] = [
    {
      name: 'pick',
      description: 'about.plan',
      run: () => Promise.resolve(''),
      suggest: ({ args }) => Promise.resolve(namesLike(args, found)),
    },
    { name: 'help', description: 'about.help', run: () => Promise.resolve('') },
  ];
  return createSuggest(
    commands,
    partial({ mayWrite: () => Promise.resolve(isAllowed ? { owner: false } : undefined) }),
    partial({ sessionOf: (address) => Promise.resolve(address) }),
  );
}

it('first start with what was typed, then contain it, ignoring case', async () => {
  expect(await suggest(['Ab', 'cab', 'xy', 'abc'])(message('/pick aB'))).toEqual(['Ab', 'abc', 'cab']);
});

it(`are at most ${MAX_SUGGESTIONS}`, async () => {
  const many = Array.from({ length: MAX_SUGGESTIONS + 1 }, (_, n) => `name ${n}`);
  expect(await suggest(many)(message('/pick'))).toEqual(many.slice(0, MAX_SUGGESTIONS));
});

it('are empty for a user who may not write, for a command without any, and for no command', async () => {
  expect(await suggest(['a'], false)(message('/pick'))).toEqual([]);
  expect(await suggest(['a'])(message('/help'))).toEqual([]);
  expect(await suggest(['a'])(message('pick'))).toEqual([]);
});
