/** Lines about running tools and subagents: shown after a second, removed when the text continues. */
import { describe, expect, it } from 'vitest';
import {
  Activity,
  MAX_ACTIVITY_LINES,
  MAX_AGENTS_SHOWN,
  SHOW_AFTER_MS,
} from '../../../src/delivery/live/activity.ts';
import type { AgentEvent, EventBody } from '../../../src/protocol/event.ts';
import { buildDelivery } from '../setup.ts';

const event = (body: EventBody, agentId?: string): AgentEvent => ({
  sessionKey: 'fake:1',
  turnId: 't',
  at: 0,
  ...body,
  ...(agentId !== undefined && { agentId, isSubagent: true }),
});
const call = (id: string, name = id): EventBody => ({ type: 'tool_call', toolCallId: id, name, args: {} });
const result = (id: string, isError = false): EventBody => ({
  type: 'tool_result',
  toolCallId: id,
  name: id,
  result: '',
  isError,
});
const spawned = (task: string, profileId = 'researcher'): EventBody => ({
  type: 'subagent_spawned',
  profileId,
  task,
});
const completed: EventBody = { type: 'subagent_completed', result: '', completedNormally: true };

describe('the line about the thinking', () => {
  const think = (delta: string): AgentEvent => event({ type: 'thinking_delta', msgId: 'm', delta });

  it('shows its last whole sentence and how long it lasts, where the chat wants that, until it ends', () => {
    const activity = new Activity();
    activity.showsThinking = true;
    expect(activity.apply(event({ type: 'thinking_started', msgId: 'm' }), 0)).toBe(true);
    expect(activity.apply(think('First I look. Then'), 10)).toBe(true);
    expect(activity.lines(SHOW_AFTER_MS - 1)).toBeUndefined();
    expect(activity.nextLineAt(10)).toBe(SHOW_AFTER_MS);
    expect(activity.lines(4_400)).toBe('💭 thinking, 4 s · First I look.');
    // Words between two sentences change nothing: they would use up the chat's pace.
    expect(activity.apply(think(' I write'), 4_500)).toBe(false);
    expect(activity.apply(think(' it. '), 4_600)).toBe(true);
    expect(activity.lines(5_000)).toBe('💭 thinking, 5 s · Then I write it.');
    expect(activity.apply(event({ type: 'thinking_finished', msgId: 'm' }), 5_100)).toBe(true);
    expect(activity.lines(6_000)).toBeUndefined();
  });

  it('is not shown elsewhere, and keeps only the end of an endless thought', () => {
    const quiet = new Activity();
    quiet.apply(event({ type: 'thinking_started', msgId: 'm' }), 0);
    expect(quiet.apply(think('I look. '), 10)).toBe(false);
    expect(quiet.lines(9_000)).toBeUndefined();
    const activity = new Activity();
    activity.showsThinking = true;
    activity.apply(event({ type: 'thinking_started', msgId: 'm', title: 'Planning' }), 0);
    for (let nth = 0; nth < 500; nth += 1) activity.apply(think(`${'word '.repeat(100)}no end`), 10);
    activity.apply(think('!'), 20);
    expect(activity.lines(2_000)?.length).toBeLessThan(200);
  });
});

describe('the lines about tools and subagents', () => {
  it('name a tool once it has run for a second, and show its result until the text continues', () => {
    const activity = new Activity();
    activity.apply(event(call('exec')), 0);
    expect(activity.lines(SHOW_AFTER_MS - 1)).toBeUndefined();
    expect(activity.nextLineAt(0)).toBe(SHOW_AFTER_MS);
    expect(activity.lines(SHOW_AFTER_MS)).toBe('⚙ exec …');
    activity.apply(event(result('exec', true)), 2_000);
    expect(activity.lines(2_000)).toBe('⚙ exec ✗');
    expect(activity.apply(event({ type: 'stream_chunk', msgId: 'm', delta: 'Then' }), 2_000)).toBe(true);
    expect(activity.lines(9_000)).toBeUndefined();
    expect(activity.nextLineAt(2_100)).toBeUndefined();
  });

  it('show the progress that a running tool reports, until it has ended', () => {
    const activity = new Activity();
    const progress = (toolCallId: string, text: string): EventBody => ({
      type: 'tool_progress',
      toolCallId,
      name: 'exec',
      text,
    });
    activity.apply(event(call('exec')), 0);
    expect(activity.apply(event(progress('exec', '2 of 3 files')), 500)).toBe(true);
    expect(activity.lines(1_000)).toBe('⚙ exec: 2 of 3 files …');
    activity.apply(event(progress('exec', 'x'.repeat(300))), 1_100);
    expect(activity.lines(1_100)?.length).toBeLessThan(80);
    expect(activity.apply(event(progress('unknown', '1')), 1_200)).toBe(false);
    activity.apply(event(result('exec')), 2_000);
    expect(activity.apply(event(progress('exec', 'late')), 2_100)).toBe(false);
    expect(activity.lines(2_100)).toBe('⚙ exec ✓');
  });

  it('name a subagent by its profile and its task, or the tool it runs (N-56)', () => {
    const activity = new Activity();
    activity.apply(event(call('spawn_agent')), 0);
    activity.apply(event(spawned('Find  three\nhotels'), 'a'), 0);
    expect(activity.lines(1_000)).toBe('◆ researcher: Find three hotels');
    activity.apply(event(call('web_search'), 'a'), 1_200);
    expect(activity.lines(1_200)).toBe('◆ researcher: ⚙ web_search …');
    activity.apply(event({ type: 'stream_chunk', msgId: 'child', delta: 'words of the child' }, 'a'), 1_300);
    expect(activity.lines(1_300)).toBe('◆ researcher: ⚙ web_search …');
    activity.apply(event(result('web_search'), 'a'), 1_400);
    expect(activity.lines(1_400)).toBe('◆ researcher: Find three hotels');
    activity.apply(event(completed, 'a'), 1_500);
    expect(activity.lines(1_500)).toBe('⚙ spawn_agent …');
  });

  it('are limited, however much is running', () => {
    const activity = new Activity();
    for (let n = 0; n <= MAX_AGENTS_SHOWN; n += 1)
      activity.apply(event(spawned('t'.repeat(500), `p${n}`), `a${n}`), 0);
    const lines = activity.lines(5_000)?.split('\n') ?? [];
    expect(lines).toHaveLength(MAX_ACTIVITY_LINES + 1);
    expect(lines.at(-1)).toBe(`and ${MAX_AGENTS_SHOWN - MAX_ACTIVITY_LINES} more`);
    expect(lines[0]?.length).toBeLessThan(140);
  });
});

describe('below a growing reply', () => {
  it('a quick tool causes no edit, a slow one gets a line, and the final text has neither', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.say('t', 'Looking.');
    await gateway.clock.advance(1_500);
    gateway.emit('t', call('quick'));
    await gateway.clock.advance(100);
    gateway.emit('t', result('quick'));
    gateway.say('t', ' Still.');
    await gateway.clock.advance(1_500);
    expect(gateway.channel.screen('1')).toEqual(['Looking. Still.']);
    expect(gateway.channel.count('edit')).toBe(1);
    gateway.emit('t', call('slow'));
    gateway.emit('t', spawned('Find hotels'), { agentId: 'a' });
    gateway.emit('t', call('web_search'), { agentId: 'a' });
    await gateway.clock.advance(2_500);
    expect(gateway.channel.screen('1')).toEqual([
      'Looking. Still.\n\n_⚙ slow …_\n_◆ researcher: ⚙ web_search …_',
    ]);
    await turn.settle();
    await gateway.deliver('Looking. Still. Found.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Looking. Still. Found.']);
    expect(gateway.clock.waiting).toBe(0);
  });
});
