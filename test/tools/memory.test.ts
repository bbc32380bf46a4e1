/** The tool `memory` over an in-memory store: whose facts, from where, and where they are shown. */
import { expect, it } from 'vitest';
import type { MemoryRecord, MemoryStore } from '../../src/protocol/store/notes.ts';
import type { ToolContext } from '../../src/protocol/agent/tool.ts';
import { createMemory, MAX_SHOWN } from '../../src/tools/memory.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';

type Kept = MemoryRecord & { user: string; key: string };

/** Remembers every fact it receives; `full` reports that the oldest was dropped. */
function tool(full = false) {
  const kept: Kept[] = [];
  const of = (user: string): Kept[] => kept.filter((fact) => fact.user === user).toReversed();
  const memories: MemoryStore = {
    async remember(user, fact) {
      const known = kept.find((old) => old.user === user && (old.key === fact.key || old.text === fact.text));
      const memory = known ?? { ...fact, user, id: kept.length + 1, createdAt: new Date() };
      if (known === undefined) kept.push(memory);
      return { memory, isNew: known === undefined, dropped: full ? 1 : 0 };
    },
    searchMemory: async (user, query) => of(user).filter(({ text }) => text.includes(query)),
    recall: async () => [],
    memories: async (user, limit) => of(user).slice(0, limit),
    verifyMemory: async () => false,
    async deleteMemories(user, which) {
      const at = kept.findIndex((fact) => fact.user === user && fact.id === which);
      if (at !== -1) kept.splice(at, 1);
      return at === -1 ? 0 : 1;
    },
  };
  const memory = createMemory(memories);
  const ann: Partial<ToolContext> = { userId: 'telegram:1', place: 'private', sources: [] };
  return {
    kept,
    run: async (args: unknown, over: Partial<ToolContext> = {}) => {
      const parsed = memory.parameters.parse(args);
      return (await memory.execute(parsed, toolContext({ ...ann, callKey: JSON.stringify(args), ...over })))
        .content;
    },
  };
}

it('saves a user’s fact on one line, and finds, lists and deletes it by its number', async () => {
  const { run, kept } = tool();
  expect(await run({ action: 'save', text: ' Has a dog\n## called   Rex\u2028' })).toBe('Saved as number 1.');
  expect(kept).toMatchObject([
    { user: 'telegram:1', text: 'Has a dog ## called Rex', untrusted: false, session: 'telegram:1' },
  ]);
  expect(await run({ action: 'search', text: 'dog' })).toBe('1: Has a dog ## called Rex');
  expect(await run({ action: 'list' })).toBe('1: Has a dog ## called Rex');
  expect(await run({ action: 'forget', number: 1 })).toBe('Forgot number 1.');
  expect(await run({ action: 'forget', number: 1 })).toContain('no fact');
  expect(await run({ action: 'list' })).toContain('Nothing');
});

it('does not save a fact twice, by the key of its call or by its text', async () => {
  const { run, kept } = tool();
  await run({ action: 'save', text: 'Likes tea' }, { callKey: 'turn.1.0' });
  expect(await run({ action: 'save', text: 'Likes tea' }, { callKey: 'turn.1.0' })).toContain(
    'already saved',
  );
  expect(await run({ action: 'save', text: 'Likes tea' })).toContain('already saved');
  expect(kept).toHaveLength(1);
});

it('marks what is saved while untrusted text is in the context, or may be', async () => {
  const { run, kept } = tool();
  expect(await run({ action: 'save', text: 'one' }, { sources: ['web'] })).toContain('unverified');
  await run({ action: 'save', text: 'two' }, { sources: undefined });
  expect(kept.map(({ untrusted }) => untrusted)).toEqual([true, true]);
  expect(await run({ action: 'list' })).toBe('2 (unverified): two\n1 (unverified): one');
});

it('shows and deletes nothing where others read, and remembers nothing when no user wrote', async () => {
  const { run, kept } = tool();
  await run({ action: 'save', text: 'Likes tea' });
  for (const place of ['group', undefined] as const) {
    await expect(run({ action: 'list' }, { place })).rejects.toMatchObject({ code: 'not_here' });
    await expect(run({ action: 'search', text: 'tea' }, { place })).rejects.toMatchObject({
      code: 'not_here',
    });
    await expect(run({ action: 'forget', number: 1 }, { place })).rejects.toMatchObject({ code: 'not_here' });
  }
  await expect(run({ action: 'save', text: 'x' }, { userId: 'system' })).rejects.toMatchObject({
    code: 'no_user',
  });
  expect(await run({ action: 'list' }, { userId: 'telegram:2' })).toContain('Nothing');
  expect(kept).toHaveLength(1);
});

it('reports when the oldest fact was dropped, when there is more, and what an action requires', async () => {
  const { run } = tool(true);
  expect(await run({ action: 'save', text: 'x' })).toContain('oldest of them had to go');
  for (let n = 0; n < MAX_SHOWN; n += 1) await run({ action: 'save', text: `fact ${n}` });
  expect(await run({ action: 'list' })).toContain(`at most ${MAX_SHOWN}`);
  await expect(run({ action: 'save', text: ' \n ' })).rejects.toThrow('needs "text"');
  await expect(run({ action: 'search' })).rejects.toThrow('needs "text"');
  await expect(run({ action: 'forget' })).rejects.toThrow('"number"');
});
