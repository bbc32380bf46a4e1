/** Two sessions of two users on the same stores and folders: whatever the agent does in one, it sees none of the other. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Tool } from '../../../src/protocol/agent/tool.ts';
import { editFile } from '../../../src/tools/files/edit-file.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { createMemory } from '../../../src/tools/memory.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { createScratchpadTool } from '../../../src/tools/scratchpad.ts';
import { createTodoTool } from '../../../src/tools/todo.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { writeFile } from '../../../src/tools/files/write-file.ts';
import { describeStore, silentLog } from '../../database.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

const OPERATIONS = 10_000;
/** Every written text contains its writer's canary. */
const PEOPLE = ['telegram:7001', 'telegram:7002'] as const;
const canaryOf = (who: number): string => `canary-of-${who === 0 ? 'ada' : 'bob'}`;

const name = fc.constantFrom('plan.md', 'notes/today.md', 'a', '../a', 'telegram:7001', 'telegram:7002');
const number = fc.integer({ min: 1, max: 400 });

/** One tool call by one of the two; `mine` stands for a text with the canary. */
const operation = fc.tuple(
  fc.nat({ max: 1 }),
  fc.oneof(
    fc.record({ tool: fc.constant('write_file'), path: name, content: fc.constant('mine') }),
    fc.record({
      tool: fc.constant('edit_file'),
      path: name,
      old_text: fc.constant('canary'),
      new_text: fc.constant('mine'),
    }),
    fc.record({ tool: fc.constant('read_file'), path: name }),
    fc.record({ tool: fc.constant('list_dir'), path: fc.constantFrom('.', 'notes', '..') }),
    fc.record({ tool: fc.constant('todo'), action: fc.constant('list') }),
    fc.record({
      tool: fc.constant('todo'),
      action: fc.constant('replace'),
      items: fc.constant([{ text: 'mine' }]),
    }),
    fc.record({
      tool: fc.constant('scratchpad'),
      action: fc.constant('set'),
      name,
      text: fc.constant('mine'),
    }),
    fc.record({ tool: fc.constant('scratchpad'), action: fc.constantFrom('read', 'delete'), name }),
    fc.record({ tool: fc.constant('scratchpad'), action: fc.constant('read') }),
    fc.record({
      tool: fc.constant('memory'),
      action: fc.constantFrom('save', 'search'),
      text: fc.constant('mine'),
    }),
    fc.record({ tool: fc.constant('memory'), action: fc.constant('list') }),
    fc.record({ tool: fc.constant('memory'), action: fc.constant('forget'), number }),
  ),
);

describeStore('two sessions', (databases) => {
  it(`see nothing of each other in ${OPERATIONS} random operations`, async () => {
    const store = await databases.open();
    const root = await mkdtemp(path.join(tmpdir(), 'parley-crossings-'));
    const tools = new Map<string, Tool>(
      [
        listDir,
        readFile,
        writeFile,
        editFile,
        createMemory(store.memories),
        createTodoTool(store.todos),
        createScratchpadTool(store.scratchpad),
      ].map((tool) => [tool.name, tool]),
    );
    const files = createSessionFiles(root, silentLog);
    const workspaces = await Promise.all(['ada', 'bob'].map((folder) => files.open(folder)));
    const seen = { own: 0, crossed: 0, refused: 0 };
    const operations = fc.sample(operation, { numRuns: OPERATIONS, seed: 11 });
    for (const [at, [who, { tool: toolName, ...call }]] of operations.entries()) {
      const text = `${canaryOf(who)} ${at}`;
      const args: unknown = JSON.parse(JSON.stringify(call).replaceAll('"mine"', JSON.stringify(text)));
      const sessionKey = PEOPLE[who] ?? PEOPLE[0];
      const context = {
        sessionKey,
        address: sessionKey,
        userId: sessionKey,
        callKey: `${at}`,
        workspace: workspaces[who] ?? '',
      };
      const tool = tools.get(toolName);
      const parsed = tool?.parameters.safeParse(args);
      const answer =
        parsed?.success === true
          ? await tool?.execute(parsed.data, toolContext(context)).then(({ content }) => content, String)
          : undefined;
      if (answer === undefined) seen.refused += 1;
      else if (answer.includes(canaryOf(1 - who))) seen.crossed += 1;
      else if (answer.includes(canaryOf(who))) seen.own += 1;
    }
    await rm(root, { recursive: true, force: true });
    expect(seen).toMatchObject({ crossed: 0, refused: 0 });
    expect(seen.own).toBeGreaterThan(OPERATIONS / 10);
  }, 180_000);
});
