/** Rows that a turn has read, and a turn that has read them: what the danger of a call is judged by. */
import { contextRow, type ContextRow } from '../../../src/agent/prompt/history.ts';
import { Taint } from '../../../src/agent/turn/turn-rows.ts';
import type { Source } from '../../../src/protocol/agent/risk.ts';

/** The person whose turn it is. */
export const ANN = 'telegram:42';
/** A row of a message. */
export const said = (content: string, author: string | null = ANN, sources: Source[] = []) =>
  contextRow(0, { kind: 'user', content, author: author ?? undefined, sources });
/** A row of a message that quotes someone else. */
export const quoting = (quote: string, typed: string, author = ANN) =>
  contextRow(0, { kind: 'user', content: `${quote}\n${typed}`, author, typed, sources: ['quoted'] });
/** A row of a tool's result, with the source of its text. */
export const result = (toolName: string, content: string, source: Source, addresses?: readonly string[]) =>
  contextRow(1, {
    kind: 'tool_result',
    toolCallId: 'c',
    toolName,
    callIndex: 0,
    content,
    isError: false,
    sources: [source],
    ...(addresses && { addresses }),
  });
/** A turn that answers Ann and has read these rows, in a session with these sources. */
export const reader = (
  rows: readonly ContextRow[],
  sources: Source[] = ['web'],
  author: string | undefined = ANN,
) => ({
  rows,
  author,
  taint: new Taint(sources),
});
