/** The tool `memory`: facts about the user that the next chat should know, too. */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { oneLine } from '../lib/text.ts';
import {
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  MAX_UNVERIFIED_MEMORIES,
  type MemoryRecord,
  type MemoryStore,
} from '../protocol/store/notes.ts';
import { taints } from '../protocol/agent/risk.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../protocol/agent/tool.ts';

/** Facts in one answer of `search` and `list`. */
export const MAX_SHOWN = 20;

const parameters = z.strictObject({
  action: z
    .enum(['save', 'search', 'list', 'forget'])
    .describe('save: keep a fact. search: find facts. list: the newest. forget: remove one.'),
  text: z
    .string()
    .max(MAX_MEMORY_CHARS)
    .optional()
    .describe('save: one short sentence about the user. search: words to look for.'),
  number: z.int().min(1).optional().describe('forget: the number that search and list show.'),
});

type Args = z.infer<typeof parameters>;

/** Makes the tool over the store; it sees only the facts of the user the turn answers. */
export function createMemory(memories: MemoryStore): Tool {
  return defineTool({
    name: 'memory',
    description:
      'Remember lasting facts about the user (name, preferences, people, plans) across all chats, and look them up. ' +
      'Save what the user tells you about themselves, in one sentence each; never secrets such as passwords.',
    parameters,
    effect: 'idempotent',
    risk: ({ action }: Args) => (action === 'forget' ? 'caution' : 'safe'),
    results: 'operator',
    // What is saved in a tainted session is marked, and taints the sessions that read it, so saving bypasses
    // nothing.
    reach: ({ action }: Args) => (action === 'forget' ? 'outside' : 'session'),
    // A fact that was saved names its turn.
    changes: ({ action, number }: Args) =>
      action === 'forget' && number !== undefined ? [`memory:${number}` as const] : [],
    async execute(args: Args, ctx) {
      if (ctx.memoryOwner === 'system') {
        throw new ToolError('no_user', 'No person wrote this message, so there is no one to remember.');
      }
      if (args.action === 'save') return await save(memories, args, ctx);
      if (ctx.place !== 'private') {
        throw new ToolError('not_here', 'Others read this chat: memories are shown only in private ones.');
      }
      switch (args.action) {
        case 'search':
          return memoryList(
            await memories.searchMemory(ctx.memoryOwner, textOf(args), MAX_SHOWN),
            'No fact matches.',
          );
        case 'list':
          return memoryList(
            await memories.memories(ctx.memoryOwner, MAX_SHOWN),
            'Nothing is remembered yet.',
          );
        default:
          return await forget(memories, args, ctx);
      }
    },
  });
}

async function save(memories: MemoryStore, args: Args, ctx: ToolContext): Promise<ToolResult> {
  // If no one says what was read before, assume the worst.
  const untrusted = ctx.sources === undefined || taints(ctx.sources);
  const {
    memory,
    isNew,
    dropped: droppedCount,
  } = await memories.remember(ctx.memoryOwner, {
    // The turn is included: it is how the facts of a turn are counted, those of its subagents included.
    key: `${ctx.turnId}/${ctx.callKey}`,
    text: textOf(args),
    session: ctx.sessionKey,
    untrusted,
  });
  if (!isNew) return { content: `That is already saved, as number ${memory.id}.` };
  const mark = untrusted ? ' It is marked as unverified, because text from others was read before.' : '';
  const limit = untrusted ? `${MAX_UNVERIFIED_MEMORIES} unverified facts` : MAX_MEMORIES;
  const full = droppedCount > 0 ? ` The oldest of them had to go: at most ${limit} are kept.` : '';
  return { content: `Saved as number ${memory.id}.${mark}${full}` };
}

async function forget(memories: MemoryStore, { number }: Args, ctx: ToolContext): Promise<ToolResult> {
  if (number === undefined) throw new ToolError('bad_arguments', 'forget needs "number", as list shows it.');
  const count = await memories.deleteMemories(ctx.memoryOwner, number);
  return { content: count === 0 ? `There is no fact with number ${number}.` : `Forgot number ${number}.` };
}

function textOf({ action, text = '' }: Args): string {
  const line = oneLine(text);
  if (line === '') throw new ToolError('bad_arguments', `${action} needs "text".`);
  return line;
}

function memoryList(records: readonly MemoryRecord[], nothing: string): ToolResult {
  if (records.length === 0) return { content: nothing };
  const lines = records.map(
    ({ id, text, untrusted }) => `${id}${untrusted ? ' (unverified)' : ''}: ${oneLine(text)}`,
  );
  if (records.length === MAX_SHOWN) lines.push(`(at most ${MAX_SHOWN} are shown; search for more)`);
  const source = records.some(({ untrusted }) => untrusted) ? 'local' : 'verified';
  return { content: lines.join('\n'), source, from: 'the memory' };
}
