/** What events and stored texts make of an answer, without a browser. */
import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../../../../../src/protocol/event.ts';
import {
  type Answer,
  applyNested,
  applyToAnswer,
  finishAnswer,
  NO_ANSWER,
  type Part,
  textOf,
  withStoredText,
} from '../../../../../../channels/http/page/chat/turn/answer.ts';

const LIVE = { now: 1_000, isRestoring: false };

function after(...events: EventBody[]): Answer {
  return events.reduce((answer, event) => applyToAnswer(answer, event, LIVE)[0], NO_ANSWER);
}

const chunk = (msgId: string, delta: string): EventBody => ({ type: 'stream_chunk', msgId, delta });
const call = (toolCallId: string, name = 'exec', args = {}): EventBody => ({
  type: 'tool_call',
  toolCallId,
  name,
  args,
});
const result = (toolCallId: string, isError = false): EventBody => ({
  type: 'tool_result',
  toolCallId,
  name: 'exec',
  result: 'out',
  isError,
});
const decision = (toolCallId: string, verdict: 'approved' | 'denied'): EventBody => ({
  type: 'approval_decided',
  approvalId: 'q',
  decision: verdict,
  toolCallId,
});
const states = ({ parts }: Answer): string[] =>
  parts.flatMap((part) => ('state' in part ? [part.state] : []));
const kinds = ({ parts }: Answer): string[] => parts.map(({ kind }) => kind);

describe('an answer', () => {
  it('has its texts and calls in the order in which they began', () => {
    const answer = after(chunk('a', 'one '), call('t'), chunk('b', 'two'), result('t'), chunk('b', '!'));
    expect(kinds(answer)).toEqual(['text', 'tool', 'text']);
    expect(textOf(answer)).toBe('one two!');
    expect(states(answer)).toEqual(['done']);
  });

  it('keeps the parts that did not change as the same objects', () => {
    const before = after(chunk('a', 'one'), call('t'), chunk('b', 'two'));
    const [next] = applyToAnswer(before, chunk('b', '!'), LIVE);
    expect(next.parts.slice(0, 2).every((part, nth) => part === before.parts[nth])).toBe(true);
    expect(next.parts[2]).not.toBe(before.parts[2]);
  });

  it('drops the text and the thinking of a call that is repeated, and nothing else', () => {
    const answer = after(
      { type: 'thinking_started', msgId: 'a' },
      { type: 'thinking_delta', msgId: 'a', delta: 'hm' },
      chunk('a', 'wrong'),
      call('t'),
      { type: 'stream_reset', msgId: 'a' },
      chunk('a', 'right'),
    );
    expect(kinds(answer)).toEqual(['tool', 'text']);
    expect(textOf(answer)).toBe('right');
  });

  it('continues a snapshot in the same text, but not for a call that began after it', () => {
    expect(after({ type: 'snapshot', text: 'one **bo' }, chunk('a', 'ld**')).parts).toHaveLength(1);
    const later = after(
      { type: 'snapshot', text: 'one' },
      { type: 'stream_start', msgId: 'b' },
      chunk('b', 'two'),
    );
    expect(later.parts).toHaveLength(2);
  });

  it('says which calls a person denied, whichever comes first, and that others failed', () => {
    expect(states(after(call('t'), decision('t', 'denied'), result('t', true)))).toEqual(['denied']);
    expect(states(after(call('t'), result('t', true), decision('t', 'denied')))).toEqual(['denied']);
    expect(states(after(call('t'), decision('t', 'approved'), result('t', true)))).toEqual(['failed']);
  });

  it('shows a call as waiting until it is decided, and as unfinished when the turn ends before its result', () => {
    const waiting = after(call('t'), { type: 'approval_needed', approvalId: 'q', toolCallId: 't' });
    expect(states(waiting)).toEqual(['waiting']);
    expect(states(applyToAnswer(waiting, decision('t', 'approved'), LIVE)[0])).toEqual(['running']);
    expect(states(finishAnswer(waiting, 2_000))).toEqual(['unfinished']);
  });

  it('measures thinking that was followed, and not what was loaded', () => {
    const thinking = after({ type: 'thinking_started', msgId: 'a' });
    const end: EventBody = { type: 'thinking_finished', msgId: 'a' };
    const seconds = (isRestoring: boolean): Part | undefined =>
      applyToAnswer(thinking, end, { now: 4_400, isRestoring })[0].parts[0];
    expect(seconds(false)).toMatchObject({ isRunning: false, seconds: 3 });
    expect(seconds(true)).toMatchObject({ isRunning: false, seconds: undefined });
  });

  it('takes the stored text where it differs, adds a closing text, and marks the last text of an error', () => {
    const streamed = after(chunk('a', 'Two words'));
    expect(withStoredText(streamed, 'Two words', false).parts[0]).toMatchObject({ isGrowing: false });
    expect(withStoredText(streamed, 'Two words. Cut off.', false).parts.map(({ id }) => id)).toEqual([
      'a',
      'end',
    ]);
    expect(textOf(withStoredText(streamed, 'Another.', false))).toBe('Another.');
    expect(withStoredText(streamed, 'Two words. No model.', true).parts).toMatchObject([
      { isError: false },
      { isError: true },
    ]);
  });

  it('stays the same object when the same stored text is read again, and notes events that come late', () => {
    const stored = withStoredText(after(chunk('a', 'x')), 'x', false);
    expect(withStoredText(stored, 'x', false)).toBe(stored);
    const [late] = applyToAnswer(stored, chunk('a', 'x'), LIVE);
    expect([textOf(late), late.missesParts]).toEqual(['x', true]);
  });

  it('shows a subagent under the call that started it, or alone', () => {
    const spawn: EventBody = { type: 'subagent_spawned', profileId: 'coder', task: 'look' };
    const under = applyNested(after(call('t', 'spawn_agent', { task: 'look' })), spawn, 'g', LIVE);
    expect(kinds(under)).toEqual(['tool']);
    expect(kinds(applyNested(after(call('t', 'exec')), spawn, 'g', LIVE))).toEqual(['tool', 'agent']);
    const done: EventBody = { type: 'subagent_completed', result: '', completedNormally: false };
    expect(
      applyNested(applyNested(under, chunk('a', 'seen'), 'g', LIVE), done, 'g', LIVE).parts,
    ).toMatchObject([
      { agents: [{ state: 'failed', answer: { parts: [{ text: 'seen', isGrowing: false }] } }] },
    ]);
  });
});
