/** The tool `scratchpad`: notes the agent keeps for itself in a session, between iterations and turns. */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { oneLine } from '../lib/text.ts';
import { MAX_NOTE_CHARS, MAX_NOTES, type ScratchpadStore } from '../protocol/store/notes.ts';
import { mergeSources, type Source, UNKNOWN_SOURCES } from '../protocol/agent/risk.ts';
import { defineTool, type ToolContext, type ToolResult } from '../protocol/agent/tool.ts';

/** Longest name of a note, in UTF-16 units. */
const MAX_NOTE_NAME_CHARS = 80;
/** The source's name for the model. */
const FROM = 'the scratchpad';
/** How much of each note the list of all notes shows. */
const GLIMPSE_CHARS = 80;

const parameters = z.strictObject({
  action: z.enum(['read', 'set', 'delete']),
  name: z
    .string()
    .min(1)
    .max(MAX_NOTE_NAME_CHARS)
    .optional()
    .describe('Name of the note; "read" without it lists all notes.'),
  text: z.string().max(MAX_NOTE_CHARS).optional().describe('With "set": the whole text of the note.'),
});

type Args = z.infer<typeof parameters>;

/** Makes the tool over the notes of all sessions; a call acts on the session of its context. */
export function createScratchpadTool(scratchpad: ScratchpadStore) {
  return defineTool({
    name: 'scratchpad',
    description:
      'Keep notes for yourself in this conversation: intermediate results, what you found out, what to do later. The user ' +
      'does not see them.',
    parameters,
    effect: 'idempotent',
    risk: () => 'safe',
    reach: () => 'session',
    changes: ({ action }) => (action === 'read' ? [] : ['scratchpad']),
    // A note's text has the sources that were read before it was written.
    results: 'operator',
    async execute(args: Args, ctx) {
      if (args.action === 'read') return await read(scratchpad, args, ctx);
      if (args.name === undefined) throw new ToolError('missing_argument', `"${args.action}" needs "name".`);
      if (args.action === 'delete') {
        await scratchpad.setNote(ctx.sessionKey, args.name, undefined);
        return { content: `There is no longer a note ${JSON.stringify(args.name)}.` };
      }
      if (args.text === undefined) throw new ToolError('missing_argument', '"set" needs "text".');
      const note = { text: args.text, sources: ctx.sources ?? UNKNOWN_SOURCES };
      if (await scratchpad.setNote(ctx.sessionKey, args.name, note)) {
        return { content: `Noted ${JSON.stringify(args.name)}, ${args.text.length} characters.` };
      }
      throw new ToolError('scratchpad_full', `There are already ${MAX_NOTES} notes: delete one first.`);
    },
  });
}

async function read(scratchpad: ScratchpadStore, args: Args, ctx: ToolContext): Promise<ToolResult> {
  const notes = await scratchpad.notes(ctx.sessionKey);
  if (args.name !== undefined) {
    const note = notes.get(args.name);
    if (note !== undefined) return { content: note.text, sources: note.sources, from: FROM };
    const names = [...notes.keys()].map((name) => JSON.stringify(name)).join(', ') || 'none';
    throw new ToolError(
      'no_such_note',
      `There is no note ${JSON.stringify(args.name)}. The notes are: ${names}.`,
    );
  }
  if (notes.size === 0) return { content: 'The scratchpad is empty.' };
  const lines = [...notes].map(
    ([name, { text }]) =>
      `${JSON.stringify(name)} (${text.length} characters): ${oneLine(text).slice(0, GLIMPSE_CHARS).toWellFormed()}`,
  );
  const sources = [...notes.values()].reduce<readonly Source[]>(
    (all, note) => mergeSources(all, note.sources),
    [],
  );
  return { content: lines.join('\n'), sources, from: FROM };
}
