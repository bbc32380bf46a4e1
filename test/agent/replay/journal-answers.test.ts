/** Results of a journal by what was called. */
import { expect, it } from 'vitest';
import { callsInJournal, JournalAnswers } from '../../../src/agent/replay/journal-answers.ts';
import type { ContextEntry, ContextRecord } from '../../../src/protocol/store/records.ts';

const call = (name: string, args: Record<string, unknown>) => ({ id: `${name}-id`, name, args });

function journal(...calls: [name: string, args: Record<string, unknown>, result: string | undefined][]) {
  const rows: ContextRecord[] = [];
  const add = (iteration: number, entry: ContextEntry): void =>
    void rows.push({ seq: rows.length, turnId: 't', iteration, entry, tokens: 1 });
  for (const [at, [name, args, content]] of calls.entries()) {
    add(at, { kind: 'assistant', content: '', toolCalls: [call(name, args)], msgId: 'm' });
    const names = { toolCallId: `${name}-id`, toolName: name, callIndex: 0 };
    if (content !== undefined) add(at, { kind: 'tool_result', ...names, content, isError: false });
  }
  return new JournalAnswers(callsInJournal(rows));
}

it('answers the same call whatever the order of its arguments, and no other', () => {
  const answers = journal(['look', { a: 1, b: { c: [2] } }, 'seen'], ['wipe', {}, undefined]);
  expect(answers.take(call('look', { b: { c: [2] }, a: 1 }))?.content).toBe('seen');
  expect(answers.take(call('look', { a: 1 }))).toBeUndefined();
  expect(answers.take(call('note', { a: 1, b: { c: [2] } }))).toBeUndefined();
  expect(answers.take(call('wipe', {}))).toBeUndefined();
  expect(answers.take({ ...call('look', { a: 1, b: { c: [2] } }), malformed: '{' })).toBeUndefined();
  expect([answers.has('wipe'), answers.has('note')]).toEqual([true, false]);
});

it('gives equal calls their results in order, and then the last one', () => {
  const answers = journal(['todo', {}, 'first'], ['todo', {}, 'second']);
  const taken = [1, 2, 3].map(() => answers.take(call('todo', {}))?.content);
  expect(taken).toEqual(['first', 'second', 'second']);
});
