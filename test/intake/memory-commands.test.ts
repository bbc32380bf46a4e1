/** `/memory` and `/forget`. */
import { expect, it } from 'vitest';
import type { CommandCall } from '../../src/protocol/command.ts';
import { createMemoryCommands, MAX_LISTED } from '../../src/intake/memory-commands.ts';
import type { MemoryRecord } from '../../src/protocol/store/notes.ts';
import { inEnglish } from '../../src/protocol/texts/say.ts';

const fact = (id: number, text: string, untrusted = false): MemoryRecord => ({
  id,
  text,
  untrusted,
  session: 'telegram:1',
  createdAt: new Date(0),
});

function commands(facts: MemoryRecord[]) {
  const asked: unknown[] = [];
  const note = <T>(answer: T, ...what: unknown[]): Promise<T> => {
    asked.push(what);
    return Promise.resolve(answer);
  };
  const [memory, verify, forget] = createMemoryCommands({
    remember: () => Promise.reject(new Error('not used')),
    recall: () => Promise.reject(new Error('not used')),
    searchMemory: (user, query, limit) => note(facts.slice(0, limit), 'search', user, query),
    memories: (user, limit) => note(facts.slice(0, limit), 'list', user),
    verifyMemory: (user, id) =>
      note(
        facts.some((fact) => fact.id === id),
        'verify',
        user,
        id,
      ),
    deleteMemories: (user, which) =>
      note(
        which === 'all' ? facts.length : Number(facts.some(({ id }) => id === which)),
        'forget',
        user,
        which,
      ),
  });
  const call = (args: string, over: Partial<CommandCall>): CommandCall => ({
    say: inEnglish,
    session: 'telegram:1',
    address: 'telegram:1',
    senderId: '1',
    userId: 'telegram:1',
    memoryOwner: over.userId ?? 'telegram:1',
    owner: false,
    place: 'private',
    args,
    ...over,
  });
  return {
    asked,
    memory: async (args = '', over: Partial<CommandCall> = {}) => await memory?.run(call(args, over)),
    verify: async (args: string, over: Partial<CommandCall> = {}) => await verify?.run(call(args, over)),
    forget: async (args: string, over: Partial<CommandCall> = {}) => await forget?.run(call(args, over)),
  };
}

it("lists the user's facts with their numbers, and searches them", async () => {
  const { memory, asked } = commands([
    fact(7, 'Likes tea'),
    fact(3, 'Owns a *red* [car](http://evil)', true),
  ]);
  const list = await memory();
  expect(list).toContain('- **7**: Likes tea\n');
  expect(list).toContain(String.raw`- **3**: Owns a \*red\* \[car\](http\://evil) *(unverified)*`);
  await memory('red car');
  expect(asked).toEqual([
    ['list', 'telegram:1'],
    ['search', 'telegram:1', 'red car'],
  ]);
  expect(await commands([]).memory()).toContain('nothing about you yet');
});

it(`lists at most ${MAX_LISTED}, says that there are more, and clips long facts`, async () => {
  const facts = Array.from({ length: MAX_LISTED + 5 }, (_, n) => fact(n + 1, 'x'.repeat(900)));
  const list = (await commands(facts).memory()) ?? '';
  expect(list.match(/^- /gm)).toHaveLength(MAX_LISTED);
  expect(list).toContain('There is more');
  expect(list.length).toBeLessThan(20_000);
});

it('forgets one number or all, and says when there was nothing to forget', async () => {
  const { forget, asked } = commands([fact(7, 'Likes tea')]);
  expect(await forget('7')).toBe('Forgotten: number 7.');
  expect(await forget('#7.')).toBe('Forgotten: number 7.');
  expect(await forget('8')).toContain('no fact number 8');
  expect(await forget('ALL')).toContain('everything about you (1)');
  expect(await forget('that thing')).toContain('/forget all');
  expect(await forget('')).toContain('/forget all');
  expect(asked).toHaveLength(4);
});

it('removes the mark from a fact that its user confirms', async () => {
  const { verify, asked } = commands([fact(7, 'Likes tea', true)]);
  expect(await verify('7')).toContain('is confirmed');
  expect(await verify('8')).toContain('no fact number 8');
  expect(await verify('all')).toContain('Write /verify');
  await expect(verify('7', { place: 'group' })).rejects.toMatchObject({ code: 'not_here' });
  expect(asked).toEqual([
    ['verify', 'telegram:1', 7],
    ['verify', 'telegram:1', 8],
  ]);
});

it('shows nothing in a chat that others can read', async () => {
  const { memory, asked } = commands([fact(7, 'Likes tea')]);
  for (const place of ['group', undefined] as const)
    await expect(memory('', { place })).rejects.toMatchObject({ code: 'not_here' });
  expect(asked).toEqual([]);
});
