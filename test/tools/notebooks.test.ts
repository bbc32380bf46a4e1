/** The tools `todo` and `scratchpad`: what they change, refuse and show. */
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/protocol/event.ts';
import {
  MAX_NOTE_CHARS,
  MAX_NOTES,
  MAX_TODO_CHARS,
  MAX_TODOS,
  readTodos,
  type Todo,
  TODO_STATUSES,
  todoText,
  writeTodos,
} from '../../src/protocol/store/notes.ts';
import { cleanText } from '../../src/lib/text.ts';
import type { ToolContext, ToolResult } from '../../src/protocol/agent/tool.ts';
import { createScratchpadTool } from '../../src/tools/scratchpad.ts';
import { createTodoTool } from '../../src/tools/todo.ts';
import { memoryScratchpad, memoryTodos } from '../fakes/notebooks.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';

const SESSION = 'telegram:1';

function todoTool() {
  const todos = memoryTodos();
  const tool = createTodoTool(todos);
  const events: EventBody[] = [];
  const run = (args: unknown, over: Partial<ToolContext> = {}): Promise<ToolResult> =>
    tool.execute(
      tool.parameters.parse(args),
      toolContext({ emit: (body) => void events.push(body), ...over }),
    );
  return { todos, tool, events, run };
}

const items = (...texts: string[]): { text: string }[] => texts.map((text) => ({ text }));

describe('todo', () => {
  it('fills, checks off and lists the items, and reports each change with the whole list', async () => {
    const { run, events } = todoTool();
    expect((await run({ action: 'list' })).content).toBe('The todo list is empty.');
    await run({ action: 'replace', items: items('Knead', 'Bake\n the  bread') });
    const { content } = await run({ action: 'update', index: 2, status: 'in_progress' });
    expect(content).toBe('1. [pending] Knead\n2. [in_progress] Bake the bread');
    expect((await run({ action: 'list' })).content).toBe(content);
    expect(events).toHaveLength(2);
    expect(events[1]).toEqual({
      type: 'todo_changed',
      items: [
        { text: 'Knead', status: 'pending' },
        { text: 'Bake the bread', status: 'in_progress' },
      ],
    });
  });

  it('refuses done without a validation and changes nothing, when the profile requires one (N-38)', async () => {
    const { run, todos, events } = todoTool();
    await run({ action: 'replace', items: items('Knead', 'Bake') });
    const strict = { stepValidation: true };
    const said = events.length;
    for (const args of [
      { action: 'update', index: 1, status: 'done' },
      { action: 'update', index: 1, status: 'done', validation: ' \n ' },
      { action: 'replace', items: [{ text: 'Knead', status: 'done' }] },
    ]) {
      await expect(run(args, strict)).rejects.toMatchObject({ code: 'validation_missing' });
    }
    expect(await todos.todos(SESSION)).toEqual([
      { text: 'Knead', status: 'pending' },
      { text: 'Bake', status: 'pending' },
    ]);
    expect(events).toHaveLength(said);
    await run({ action: 'update', index: 1, status: 'done', validation: 'poked it' }, strict);
    await run({ action: 'update', index: 2, status: 'failed' }, strict);
    // Validated items stay validated when the list around them is rewritten.
    await run({ action: 'replace', items: [{ text: 'Knead', status: 'done' }, { text: 'Buy' }] }, strict);
    expect(await todos.todos(SESSION)).toEqual([
      { text: 'Knead', status: 'done', validation: 'poked it' },
      { text: 'Buy', status: 'pending' },
    ]);
    expect((await run({ action: 'update', index: 2, status: 'done' })).content).toContain('2. [done] Buy');
  });

  it('reports what is missing, and which items exist', async () => {
    const { run } = todoTool();
    await expect(run({ action: 'update', index: 1, status: 'done' })).rejects.toThrow('The list is empty');
    await run({ action: 'replace', items: items('Knead') });
    await expect(run({ action: 'update', index: 2, status: 'done' })).rejects.toThrow('items 1 to 1');
    await expect(run({ action: 'update', index: 1 })).rejects.toThrow('"status"');
    await expect(run({ action: 'replace' })).rejects.toThrow('"items"');
    await expect(run({ action: 'replace', items: items(' \n') })).rejects.toThrow('Item 1 has no text');
  });

  it(`holds ${MAX_TODOS} items of ${MAX_TODO_CHARS} characters`, async () => {
    const { run, tool, todos } = todoTool();
    const many = (count: number): unknown => ({ action: 'replace', items: items(...Array(count).fill('x')) });
    expect(tool.parameters.safeParse(many(MAX_TODOS + 1)).success).toBe(false);
    await run(many(MAX_TODOS));
    expect(await todos.todos(SESSION)).toHaveLength(MAX_TODOS);
    await run({
      action: 'replace',
      items: items('y'.repeat(MAX_TODO_CHARS), 'z'.repeat(MAX_TODO_CHARS + 1)),
    });
    const [whole, cut] = await todos.todos(SESSION);
    expect(whole?.text).toBe('y'.repeat(MAX_TODO_CHARS));
    expect(cut?.text).toBe(`${'z'.repeat(MAX_TODO_CHARS - 1)}…`);
  });

  it('acts on the session of its context, whoever calls (N-10)', async () => {
    const { run, todos } = todoTool();
    await run({ action: 'replace', items: items('mine') }, { agentId: 'child' });
    await run({ action: 'replace', items: items('theirs') }, { sessionKey: 'telegram:2' });
    expect((await todos.todos(SESSION))[0]?.text).toBe('mine');
  });

  it('writes lists that can be parsed back, whatever they contain', () => {
    const list: Todo[] = [
      { text: '2. [done] not a line of its own', status: 'failed' },
      { text: '[pending]', status: 'in_progress' },
    ];
    expect(readTodos(`before\n${writeTodos(list)}\nafter`)).toEqual(list);
    expect(readTodos('The todo list is empty.')).toEqual([]);
    const any = fc.array(
      fc.record({ text: fc.string({ unit: 'binary' }), status: fc.constantFrom(...TODO_STATUSES) }),
      { maxLength: MAX_TODOS },
    );
    const again = fc.property(any, (todos) => {
      const kept = todos
        .map(({ text, status }) => ({ text: cleanText(todoText(text)), status }))
        .filter(({ text }) => text !== '');
      return isDeepStrictEqual(readTodos(cleanText(writeTodos(kept))), kept);
    });
    expect(fc.check(again)).toMatchObject({ failed: false });
  });
});

describe('scratchpad', () => {
  const pad = () => {
    const scratchpad = memoryScratchpad();
    const tool = createScratchpadTool(scratchpad);
    const run = async (args: unknown, over: Partial<ToolContext> = {}): Promise<string> =>
      (await tool.execute(tool.parameters.parse(args), toolContext(over))).content;
    return { scratchpad, tool, run };
  };

  it('keeps, shows and deletes notes by name, separately for each session', async () => {
    const { run } = pad();
    expect(await run({ action: 'read' })).toBe('The scratchpad is empty.');
    await run({ action: 'set', name: 'recipe', text: 'flour\nwater' });
    await run({ action: 'set', name: 'recipe', text: 'other' }, { sessionKey: 'telegram:2' });
    expect(await run({ action: 'read', name: 'recipe' })).toBe('flour\nwater');
    expect(await run({ action: 'read' })).toBe('"recipe" (11 characters): flour water');
    await run({ action: 'delete', name: 'recipe' });
    await expect(run({ action: 'read', name: 'recipe' })).rejects.toThrow('The notes are: none');
  });

  it(`holds ${MAX_NOTES} notes of ${MAX_NOTE_CHARS} characters, and reports it for the next one`, async () => {
    const { run, tool } = pad();
    for (let n = 0; n < MAX_NOTES; n += 1) await run({ action: 'set', name: `n${n}`, text: '' });
    await expect(run({ action: 'set', name: 'more', text: '' })).rejects.toThrow('already 50 notes');
    await run({ action: 'set', name: 'n7', text: 'x'.repeat(MAX_NOTE_CHARS) });
    const long = { action: 'set', name: 'n7', text: 'x'.repeat(MAX_NOTE_CHARS + 1) };
    expect(tool.parameters.safeParse(long).success).toBe(false);
    await expect(run({ action: 'set', name: 'n7' })).rejects.toThrow('"text"');
    await expect(run({ action: 'delete' })).rejects.toThrow('"name"');
  });
});
