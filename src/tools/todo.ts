/** The tool `todo`: the session's to-do list, whose progress people see (N-27, N-38). */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { mergeSources, type Source, UNKNOWN_SOURCES } from '../protocol/agent/risk.ts';
import {
  MAX_TODO_CHARS,
  MAX_TODOS,
  type Todo,
  TODO_STATUSES,
  type TodoStore,
  todoText,
  writeTodos,
} from '../protocol/store/notes.ts';
import { defineTool, type ToolContext, type ToolResult } from '../protocol/agent/tool.ts';

const status = z.enum(TODO_STATUSES);
const validation = z
  .string()
  .max(4_000)
  .describe('How you checked that it is done: what you ran, read or saw.');

const parameters = z.strictObject({
  action: z
    .enum(['list', 'replace', 'update'])
    .describe('"update" changes one item, "replace" the whole list.'),
  index: z.int().min(1).optional().describe('With "update": the number of the item, from 1.'),
  status: status.optional().describe('With "update": the new status of the item.'),
  validation: validation.optional(),
  items: z
    .array(
      z.strictObject({
        text: z.string().min(1).max(4_000).describe(`One line, at most ${MAX_TODO_CHARS} characters.`),
        status: status.default('pending'),
        validation: validation.optional(),
      }),
    )
    .max(MAX_TODOS)
    .optional()
    .describe('With "replace": the new list, in order.'),
});

type Args = z.infer<typeof parameters>;

/** Makes the tool over the lists of all sessions; a call acts on the session of its context. */
export function createTodoTool(todos: TodoStore) {
  return defineTool({
    name: 'todo',
    description:
      'Read and keep the todo list of this conversation. Mark an item in_progress when you begin it, and done, failed or ' +
      'skipped as soon as you know; give a validation with done.',
    parameters,
    effect: 'idempotent',
    risk: () => 'safe',
    results: 'operator',
    reach: () => 'session',
    changes: ({ action }) => (action === 'list' ? [] : ['todos']),
    async execute(args: Args, ctx) {
      if (args.action === 'list') return todoList(await todos.todos(ctx.sessionKey));
      const items =
        args.action === 'update' ? await update(todos, args, ctx) : await replace(todos, args, ctx);
      ctx.emit({
        type: 'todo_changed',
        items: items.map((item) => ({ text: item.text, status: item.status })),
      });
      return todoList(items);
    },
  });
}

async function update(todos: TodoStore, args: Args, ctx: ToolContext): Promise<Todo[]> {
  if (args.index === undefined || args.status === undefined) {
    throw new ToolError('missing_argument', '"update" needs "index" (from 1) and "status".');
  }
  const checked = validationOf(args.status, args.validation, ctx, `item ${args.index}`);
  const items = await todos.changeTodo(ctx.sessionKey, args.index - 1, { status: args.status, ...checked });
  if (items !== undefined) return items;
  const { length } = await todos.todos(ctx.sessionKey);
  const has =
    length === 0 ? 'The list is empty: fill it with "replace".' : `The list has items 1 to ${length}.`;
  throw new ToolError('no_such_item', `There is no item ${args.index}. ${has}`);
}

/** An item that was validated once and is still in the list needs no second validation. */
async function replace(todos: TodoStore, args: Args, ctx: ToolContext): Promise<Todo[]> {
  if (args.items === undefined) throw new ToolError('missing_argument', '"replace" needs "items".');
  const oldItems = await todos.todos(ctx.sessionKey);
  const items = args.items.map((item, at): Todo => {
    const text = todoText(item.text);
    if (text === '') throw new ToolError('empty_item', `Item ${at + 1} has no text.`);
    const old = oldItems.findLast((each) => each.text === text);
    const validation = item.validation ?? (old?.status === 'done' ? old.validation : undefined);
    const checked = validationOf(item.status, validation, ctx, `item ${at + 1}`);
    const sources = mergeSources(old?.sources ?? [], ctx.sources ?? UNKNOWN_SOURCES);
    return { text, status: item.status, ...checked, ...(sources.length > 0 && { sources }) };
  });
  await todos.setTodos(ctx.sessionKey, items);
  return items;
}

/** Throws when the profile requires saying how it was checked and no one does (N-38): then nothing is changed. */
function validationOf(
  status: Todo['status'],
  validation: string | undefined,
  ctx: ToolContext,
  item: string,
): { validation?: string } {
  const text = todoText(validation ?? '');
  if (status === 'done' && text === '' && ctx.stepValidation === true) {
    throw new ToolError(
      'validation_missing',
      `Nothing was changed: ${item} can only be done with a "validation" that says how you checked it.`,
    );
  }
  return text === '' ? {} : { validation: text };
}

function todoList(items: readonly Todo[]): ToolResult {
  if (items.length === 0) return { content: 'The todo list is empty.' };
  const sources = items.reduce<readonly Source[]>((all, item) => mergeSources(all, item.sources ?? []), []);
  return { content: writeTodos(items), sources, from: 'the todo list' };
}
