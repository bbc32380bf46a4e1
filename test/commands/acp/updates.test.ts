/** What an editor shows of an answer, whatever happens to it while it grows. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { AnswerText, stopReasonOf, textOfPrompt, updateOf } from '../../../src/commands/acp/updates.ts';
import { type AgentEvent, TURN_END_REASONS } from '../../../src/protocol/event.ts';

const around = { sessionKey: 'http:x', turnId: 't', at: 1 } as const;
const chunk = (msgId: string, delta: string): AgentEvent => ({
  ...around,
  type: 'stream_chunk',
  msgId,
  delta,
});
const reset = (msgId: string): AgentEvent => ({ ...around, type: 'stream_reset', msgId });
const snapshot = (text: string): AgentEvent => ({ ...around, type: 'snapshot', text });

/** The messages that an editor shows after these updates. */
function shown(updates: readonly (SessionUpdate | undefined)[]): string[] {
  const messages = new Map<string, string>();
  for (const update of updates) {
    if (update?.sessionUpdate !== 'agent_message_chunk' || update.content.type !== 'text') continue;
    const id = update.messageId ?? '';
    messages.set(id, (messages.get(id) ?? '') + update.content.text);
  }
  return [...messages.values()];
}

it('shows an answer once that is repeated word for word after a crash', () => {
  const answer = new AnswerText('t');
  const events = [
    chunk('a', 'one '),
    chunk('a', 'two '),
    reset('a'),
    chunk('a', 'one two'),
    chunk('a', ' three'),
  ];
  expect(shown(events.map((event) => answer.add(event)))).toEqual(['one two three']);
});

it('shows another answer as another message', () => {
  const answer = new AnswerText('t');
  const events = [chunk('a', 'one two'), reset('a'), chunk('a', 'once'), snapshot('once more')];
  expect(shown([...events.map((event) => answer.add(event)), answer.finish('once more.')])).toEqual([
    'one two',
    'once more.',
  ]);
});

it('ends with exactly the stored text, in whatever pieces it came', () => {
  const piece = fc.constantFrom('a', 'ab', 'b', ' ');
  const step = fc.oneof(
    fc.tuple(fc.constantFrom('1', '2'), piece).map(([id, delta]) => chunk(id, delta)),
    fc.constantFrom('1', '2').map(reset),
    piece.map(snapshot),
  );
  const exact = fc.property(fc.array(step), fc.array(piece, { minLength: 1 }), (events, final) => {
    const answer = new AnswerText('t');
    const text = final.join('');
    const updates = [...events.map((event) => answer.add(event)), answer.finish(text)];
    expect(shown(updates).at(-1)).toBe(text);
  });
  fc.assert(exact);
});

it('has a reason for every end of a turn', () => {
  expect(TURN_END_REASONS.map(stopReasonOf)).toEqual([
    'end_turn',
    'max_tokens',
    'refusal',
    'cancelled',
    'max_turn_requests',
    'end_turn',
    'end_turn',
  ]);
});

it('takes what a prompt embeds as text, and what it names by its name', () => {
  const text = textOfPrompt([
    { type: 'text', text: 'Explain this.' },
    { type: 'resource', resource: { uri: 'file:///a.ts', text: 'let a;' } },
    { type: 'resource_link', uri: 'file:///b.ts', name: 'b.ts' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  ]);
  expect(text).toBe('Explain this.\n\nfile:///a.ts:\n```\nlet a;\n```\n\nb.ts: file:///b.ts');
});

it('shows a failed tool as failed', () => {
  const event: AgentEvent = {
    ...around,
    type: 'tool_result',
    toolCallId: 'c',
    name: 'exec',
    result: 'no such file',
    isError: true,
  };
  expect(updateOf(event)).toMatchObject({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c',
    status: 'failed',
  });
});
