/** What is stored with the journal about a call, so that an undo of its turn can bring back what it changed. */
import { ToolError } from '../../protocol/errors.ts';
import type { CallNote } from '../../protocol/agent/call-note.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import type { AgentShared } from '../deps.ts';
import type { Turn } from '../turn/turn-state.ts';
import type { Outcome } from './tool-run.ts';

/** A call whose arguments are valid. */
interface NotedCall {
  tool: Tool;
  args: unknown;
  callKey: string;
}

/** What is there before the call; the earlier contents of files are stored by then. Throws `StoreError`. */
export async function noteBefore(
  shared: AgentShared,
  turn: Turn,
  call: NotedCall,
): Promise<CallNote | undefined> {
  return await noteOf(shared, turn, call, 'before', true);
}

/** What is there after it. `isRepeat`: a crash interrupted it, so that even an error may have had effects. Throws `StoreError`. */
export async function noteAfter(
  shared: AgentShared,
  turn: Turn,
  call: NotedCall,
  { isError }: Pick<Outcome, 'isError'>,
  isRepeat: boolean,
): Promise<CallNote | undefined> {
  const { tool } = call;
  const hadEffect = !isError || isRepeat || tool.effect === 'unsafe' || tool.question !== undefined;
  return await noteOf(shared, turn, call, 'after', hadEffect);
}

async function noteOf(
  { media: { journal } }: AgentShared,
  turn: Turn,
  call: NotedCall,
  when: CallNote['when'],
  isLasting: boolean,
): Promise<CallNote | undefined> {
  const { tool, args, callKey } = call;
  const changes = tool.changes?.(args) ?? [];
  const lasting = lastingOf(call);
  if (changes.length === 0 && lasting === undefined) return undefined;
  const { sessionKey: session, memoryOwner, parentTurnId, turnId: ownId, folder } = turn;
  const ids = { session, turnId: parentTurnId ?? ownId, callKey, memoryOwner };
  const note: CallNote = { when, ...ids, changes, ...(isLasting && { lasting }) };
  if (!changes.includes('files')) return note;
  const paths = tool.uses === undefined ? (tool.files?.(args) ?? []) : undefined;
  const isWhole = paths === undefined;
  try {
    return { ...note, isWhole, files: await journal[when === 'before' ? 'before' : 'marks'](folder, paths) };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    // A path that cannot be looked at cannot be written, either. Of a program no one knows.
    turn.log.info({ err: error, tool: tool.name }, 'files_not_noted');
    return isWhole ? { ...note, lasting: textRef('lasting.folder', { tool: tool.name }) } : note;
  }
}

/** What no undo brings back of a call. */
function lastingOf({ tool, args }: NotedCall): TextRef | undefined {
  const { name, server, effect } = tool;
  if (tool.lasting !== undefined) return tool.lasting(args);
  if (server !== undefined) return textRef('lasting.server', { tool: name, server });
  return effect === 'pure' || tool.changes !== undefined
    ? undefined
    : textRef('lasting.call', { tool: name });
}
