/** What messages and events make of a turn, without a browser and its texts: a key stands for each. */
import { describe, expect, it } from 'vitest';
import type { AgentEvent, EventBody } from '../../../../../../src/protocol/event.ts';
import type { Message } from '../../../../../../channels/http/page/api.ts';
import { textOf } from '../../../../../../channels/http/page/chat/turn/answer.ts';
import {
  applyToTurn,
  isBlank,
  missesWork,
  newTurn,
  type Turn,
  waitingBehind,
  withAnswer,
  withEditedPlan,
  withPlan,
  withQuestion,
  withVisibility,
  withWork,
} from '../../../../../../channels/http/page/chat/turn/turn.ts';
import { plan } from '../../../../../fakes/gateway/shown-plans.ts';

const event = (body: EventBody): AgentEvent => ({ sessionKey: 'http:a', turnId: 't', at: 0, ...body });
const after = (turn: Turn, ...bodies: EventBody[]): Turn =>
  bodies.reduce((current, body) => applyToTurn(current, event(body), 1_000), turn);
const message = (fields: Partial<Message>): Message => ({
  seq: 2,
  role: 'assistant',
  content: 'Two words.',
  turnId: 't',
  createdAt: '2026-01-01T00:00:00Z',
  senderName: null,
  isPlan: false,
  isError: false,
  leftOut: false,
  tries: null,
  model: null,
  attachments: [],
  ...fields,
});
const notes = ({ answer }: Turn): string[] =>
  answer.parts.flatMap((part) => (part.kind === 'note' ? [part.text] : []));

describe('a turn', () => {
  it('takes the place of its first message', () => {
    const turn = withAnswer(newTurn('t'), message({ seq: 7 }), 0);
    expect(turn.seq).toBe(7);
    expect(withQuestion(turn, { seq: 6, content: 'hello' }).seq).toBe(6);
  });

  it('keeps the files of a message that is stored without them before its turn begins', () => {
    const file = { file: 'f', kind: 'file', name: 'f', mimeType: '', bytes: 1 } as const;
    const sent = withQuestion(newTurn('t'), { seq: 1, content: 'see', attachments: [file] });
    const stored = withQuestion(sent, message({ role: 'user', attachments: [] }));
    expect(stored.question?.attachments).toEqual([file]);
  });

  it('shows that it works until there is a text, and how many are ahead while it waits', () => {
    const begun = after(newTurn('t'), { type: 'turn_started' });
    expect([begun.state, begun.isBusy]).toEqual(['running', true]);
    expect(after(begun, { type: 'stream_chunk', msgId: 'a', delta: 'x' }).isBusy).toBe(false);
    expect(waitingBehind(newTurn('t'), 2).status).toBe('page.turn.waits');
  });

  it('says that it was stopped where it has no text, and drops the note about the model when it failed', () => {
    const stopped = after(newTurn('t'), { type: 'turn_ended', reason: 'stopped' });
    expect(notes(stopped)).toEqual(['page.part.ended_stopped']);
    const text = after(newTurn('t'), { type: 'stream_chunk', msgId: 'a', delta: 'x' });
    expect(notes(after(text, { type: 'turn_ended', reason: 'stopped' }))).toEqual([]);
    const away: EventBody = { type: 'notice', code: 'model_unavailable', text: 'No model.' };
    expect(notes(after(newTurn('t'), away))).toEqual(['No model.']);
    expect(notes(after(newTurn('t'), away, { type: 'turn_ended', reason: 'failed' }))).toEqual([]);
  });

  it('is blank only while it shows nothing', () => {
    const ended = after(newTurn('t'), { type: 'turn_started' }, { type: 'turn_ended', reason: 'completed' });
    expect(isBlank(ended)).toBe(true);
    expect(isBlank(withQuestion(ended, { seq: 1, content: 'x' }))).toBe(false);
    expect(isBlank(withPlan(ended, plan(1), false))).toBe(false);
  });

  it('loads its work once events are lost, and not over what was seen', () => {
    const seen = after(newTurn('t'), { type: 'stream_chunk', msgId: 'a', delta: 'seen' });
    const call: EventBody = { type: 'tool_call', toolCallId: 'c', name: 'exec', args: {} };
    const work = { turnId: 't', events: [call], complete: true };
    expect(withWork(seen, work, 0)).toBe(seen);
    const lost = after(seen, { type: 'snapshot', text: 'seen' }, { type: 'turn_ended', reason: 'completed' });
    expect(missesWork(lost)).toBe(true);
    const restored = withAnswer(withWork(lost, { ...work, complete: false }, 0), message({}), 0);
    expect([missesWork(restored), textOf(restored.answer)]).toEqual([false, 'Two words.']);
    expect(restored.answer.parts).toMatchObject([
      { kind: 'note' },
      { state: 'unfinished' },
      { kind: 'text' },
    ]);
  });

  it('keeps a plan that events made newer, and the newest of its own changes', () => {
    const live = after(newTurn('t'), { type: 'plan_ready', plan: plan(2) });
    expect(withPlan(live, plan(1), false)).toBe(live);
    expect(withPlan(live, plan(1), true).plan?.plan.steps).toHaveLength(1);
    const second = { ...plan(2), version: 2 };
    const edited = withEditedPlan(live, second);
    expect(edited.plan?.plan).toBe(second);
    expect(withEditedPlan(edited, { ...plan(2), version: 1 })).toBe(edited);
    expect(withEditedPlan(edited, { ...second, id: 'another', version: 3 })).toBe(edited);
  });

  it('ends a message that waits when it is taken back, and stays the same when nothing changes', () => {
    const visibility = {
      isHidden: false,
      isQuestionHidden: false,
      isLast: false,
      asksLast: false,
      isTakenBack: true,
      place: undefined,
    };
    const dropped = withVisibility({ ...waitingBehind(newTurn('t'), 1), state: 'waiting' }, visibility);
    expect([dropped.state, dropped.status]).toEqual(['ended', '']);
    expect(withVisibility(dropped, { ...visibility })).toBe(dropped);
  });
});
