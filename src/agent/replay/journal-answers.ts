/** The results of a turn's tool calls, by what was called: a replay gets them instead of running anything. */
import type { ToolCall } from '../../protocol/agent/provider.ts';
import type { ContextEntry, ContextRecord } from '../../protocol/store/records.ts';
import { sortKeys } from '../../lib/json/json.ts';

type Result = ContextEntry & { kind: 'tool_result' };

/** A call of the journal, with its result if it has one. */
export interface JournaledCall {
  call: ToolCall;
  result: Result | undefined;
}

/** All calls of a turn, of its loop and of the steps of its plan, in order. */
export function callsInJournal(journal: readonly ContextRecord[]): JournaledCall[] {
  const results = new Map(
    journal.flatMap(({ iteration, entry }): [string, Result][] =>
      entry.kind === 'tool_result' ? [[`${iteration}.${entry.callIndex}`, entry]] : [],
    ),
  );
  return journal.flatMap(({ iteration, entry }) =>
    entry.kind === 'assistant'
      ? entry.toolCalls.map((call, index) => ({ call, result: results.get(`${iteration}.${index}`) }))
      : [],
  );
}

/** Answers calls from a journal: same tool, same arguments. Equal calls get their results in order, and then the last one again. */
export class JournalAnswers {
  readonly #results = new Map<string, Result[]>();
  readonly #names = new Set<string>();

  constructor(calls: readonly JournaledCall[]) {
    for (const { call, result } of calls) {
      this.#names.add(call.name);
      if (result === undefined) continue;
      const key = keyOf(call);
      this.#results.set(key, [...(this.#results.get(key) ?? []), result]);
    }
  }

  /** Whether the turn has called this tool. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** The stored result; undefined where the turn has made no such call. */
  take(call: ToolCall): Result | undefined {
    if (call.malformed !== undefined) return undefined;
    const results = this.#results.get(keyOf(call)) ?? [];
    return results.length > 1 ? results.shift() : results[0];
  }
}

function keyOf({ name, args }: ToolCall): string {
  return `${name} ${JSON.stringify(sortKeys(args))}`;
}
