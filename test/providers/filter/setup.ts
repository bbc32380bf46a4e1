/** What the filter returns for an answer, in one piece or in many. */
import type { ChatChunk, FinishReason, ToolSchema } from '../../../src/protocol/agent/provider.ts';
import { createAnswerFilter } from '../../../src/providers/filter/answer-filter.ts';
import { createCallMaker, offeredTools } from '../../../src/providers/answers/tool-calls.ts';

/** The tools that are offered by default. */
export const TOOLS: readonly ToolSchema[] = [
  {
    name: 'list_dir',
    description: 'Lists a folder.',
    parameters: { type: 'object', properties: { path: { type: 'string' }, depth: { type: 'integer' } } },
  },
  {
    name: 'write_file',
    description: 'Writes a file.',
    parameters: { type: 'object', properties: { path: { type: 'string' }, content: { type: 'string' } } },
  },
];

export interface Filtered {
  text: string;
  thinking: string;
  calls: { name: string; args: Record<string, unknown>; malformed?: string }[];
  finishReason: FinishReason;
  over: boolean;
}

export interface FilterSetup {
  tools?: readonly ToolSchema[];
  habits?: { startsInThought: boolean };
  finishReason?: FinishReason;
  /** False: the answer goes on. Default true. */
  ends?: boolean;
}

/** Filters an answer that arrives in these pieces. */
export function filterPieces(
  pieces: readonly string[],
  {
    tools = TOOLS,
    habits = { startsInThought: false },
    finishReason = 'stop',
    ends = true,
  }: FilterSetup = {},
): Filtered {
  const offered = offeredTools(tools);
  const filter = createAnswerFilter(offered, createCallMaker(offered), habits);
  const chunks: ChatChunk[] = [];
  for (const delta of pieces) {
    const chunk: ChatChunk = { type: 'text', delta };
    if (filter.passes(delta)) chunks.push(chunk);
    else chunks.push(...filter.filterChunk(chunk));
    if (filter.over) break;
  }
  const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
  if (ends) chunks.push(...filter.filterChunk({ type: 'done', finishReason, usage }));
  const filtered: Filtered = { text: '', thinking: '', calls: [], finishReason, over: filter.over };
  for (const chunk of chunks) collect(filtered, chunk);
  return filtered;
}

function collect(filtered: Filtered, chunk: ChatChunk): void {
  if (chunk.type === 'text') filtered.text += chunk.delta;
  else if (chunk.type === 'thinking') filtered.thinking += chunk.delta;
  else if (chunk.type === 'done') filtered.finishReason = chunk.finishReason;
  else if (chunk.type === 'text_was_thinking') {
    filtered.thinking += filtered.text;
    filtered.text = '';
  } else {
    const { id: _, ...call } = chunk.call;
    filtered.calls.push(call);
  }
}

/** Cuts a text into chunks of this many characters. */
function cutEvery(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** Filters an answer whole, by character, and in pieces of several sizes; throws when the results differ. */
export function filterText(text: string, setup: FilterSetup = {}): Filtered {
  const fresh = (): FilterSetup => ({ ...setup, habits: { startsInThought: false, ...setup.habits } });
  const whole = filterPieces([text], fresh());
  for (const size of [1, 2, 3, 5, 7]) {
    const cut = filterPieces(cutEvery(text, size), fresh());
    if (JSON.stringify(cut) !== JSON.stringify(whole))
      throw new Error(`cut every ${size}: ${JSON.stringify(cut)} instead of ${JSON.stringify(whole)}`);
  }
  return whole;
}
