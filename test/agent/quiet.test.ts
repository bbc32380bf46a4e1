/** Turns that may keep quiet: the token is neither shown nor kept, and anything else comes whole. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_HELD, MAX_QUIET_CHARS, openScreen } from '../../src/agent/quiet.ts';
import type { EventBody } from '../../src/event.ts';
import { listDir } from '../../src/tools/list-dir.ts';
import { describeEachDatabase } from '../database.ts';
import { asks, says, ScriptedProvider } from '../fakes/scripted-provider.ts';
import { openWorld } from '../fakes/turn-world.ts';

const TOKEN = 'HEARTBEAT_OK';
const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/** A screen that counts how often it was opened, and what came out of it. */
function screenOf(over: { quietToken?: string | undefined; textSoFar?: string; begun?: boolean } = {}) {
  const events: EventBody[] = [];
  const seen = { opened: 0, settled: 0, events };
  const screen = openScreen({
    quietToken: TOKEN,
    textSoFar: '',
    begun: false,
    open: () => {
      seen.opened += 1;
      return { settle: async () => void (seen.settled += 1) };
    },
    emit: (body) => void events.push(body),
    ...over,
  });
  const say = (...deltas: string[]): void => {
    screen.watch({ type: 'stream_start', msgId: 'm1' });
    for (const delta of deltas) screen.watch({ type: 'stream_chunk', msgId: 'm1', delta });
    screen.watch({ type: 'stream_end', msgId: 'm1', content: deltas.join(''), usage });
  };
  const end = (text: string) => screen.end({ reason: 'completed', text, isError: false });
  return { screen, seen, say, end };
}
const chunks = (events: EventBody[]): string =>
  events.map((event) => (event.type === 'stream_chunk' ? event.delta : '')).join('');

describe('a screen with a quiet token', () => {
  it.each([
    'HEARTBEAT_OK',
    '**HEARTBEAT_OK**',
    '`heartbeat_ok`.',
    '\n> "HEARTBEAT OK" 👍\n',
    'HEARTBEAT_OK\n\nHEARTBEAT_OK',
  ])('stays closed for %j, letter by letter', async (answer) => {
    const { screen, seen, say, end } = screenOf();
    say(...answer.split(''));
    expect(end(answer)).toMatchObject({ text: '', quiet: true });
    await screen.settle();
    expect(seen).toEqual({ opened: 0, settled: 0, events: [] });
  });

  it.each(['HEARTBEAT_OK, but the plants are dry.', 'HEART', 'Hello', '👍', 'HEARTBEAT_OKAY', ''])(
    'shows all of %j',
    async (answer) => {
      const { screen, seen, say, end } = screenOf();
      say(...answer.split(''));
      expect(end(answer)).toMatchObject({ text: answer, quiet: false });
      await screen.settle();
      expect(seen).toMatchObject({ opened: 1, settled: 1 });
      expect(chunks(seen.events)).toBe(answer);
    },
  );

  it('opens as soon as the words can no longer be the token, and says nothing twice', () => {
    const told = fc.property(fc.array(fc.string({ maxLength: 4 })), fc.nat(12), (deltas, cut) => {
      const all = [TOKEN.slice(0, cut), ...deltas];
      const { seen, say, end } = screenOf();
      say(...all);
      const { quiet } = end(all.join(''));
      return quiet ? seen.opened === 0 && chunks(seen.events) === '' : chunks(seen.events) === all.join('');
    });
    expect(fc.check(told)).toMatchObject({ failed: false });
    const { seen, screen } = screenOf();
    screen.watch({ type: 'stream_start', msgId: 'm1' });
    screen.watch({ type: 'stream_chunk', msgId: 'm1', delta: 'HEART' });
    expect(seen.opened).toBe(0);
    screen.watch({ type: 'stream_chunk', msgId: 'm1', delta: 'y' });
    expect(seen.opened).toBe(1);
  });

  it('forgets the words of a call that is repeated', () => {
    const { screen, seen, say, end } = screenOf();
    screen.watch({ type: 'stream_chunk', msgId: 'm1', delta: 'HEARTB' });
    screen.watch({ type: 'stream_reset', msgId: 'm1' });
    say('HEARTBEAT_OK');
    expect(end(TOKEN).quiet).toBe(true);
    expect(seen.opened).toBe(0);
  });

  it('is open from the start where something was said or shown before, and without a token', () => {
    expect(screenOf({ textSoFar: 'The plants' }).seen.opened).toBe(1);
    expect(screenOf({ begun: true }).seen.opened).toBe(1);
    expect(screenOf({ quietToken: undefined }).seen.opened).toBe(1);
    expect(screenOf({ textSoFar: 'HEARTBEAT_OK' }).seen.opened).toBe(0);
  });

  it(`holds at most ${MAX_HELD} events, and takes ${MAX_QUIET_CHARS} characters of marks for words`, () => {
    const { screen, seen } = screenOf();
    const call: EventBody = { type: 'tool_call', toolCallId: 'c', name: 'list_dir', args: {} };
    for (let n = 0; n < MAX_HELD + 50; n += 1) screen.watch(call);
    expect(seen.opened).toBe(0);
    screen.watch({ type: 'stream_chunk', msgId: 'm1', delta: '*'.repeat(MAX_QUIET_CHARS) });
    expect(seen.opened).toBe(0);
    screen.watch({ type: 'stream_chunk', msgId: 'm1', delta: '*' });
    expect(seen.opened).toBe(1);
    expect(seen.events.filter(({ type }) => type === 'tool_call')).toHaveLength(MAX_HELD);
    expect(chunks(seen.events)).toHaveLength(MAX_QUIET_CHARS + 1);
  });
});

describeEachDatabase('a turn with a quiet token', (databases) => {
  it('that has nothing to say leaves no answer, no delivery and nothing to remember', async () => {
    const provider = new ScriptedProvider(says('HEART', 'BEAT_OK'), says('Hello!'));
    const world = await openWorld(databases, { provider, profile: { iterationBudgetEnabled: false } });
    const { turn, outcome } = await world.ask('Anything?', {}, { quietToken: TOKEN, entry: 'run' });
    expect(turn).toMatchObject({ state: 'done', reason: 'completed' });
    expect(turn?.final).toBeUndefined();
    expect(world.types()).toEqual(['turn_started', 'turn_ended']);
    expect(world.order).toEqual(['finish', 'turn_ended']);
    expect(outcome).toEqual({ kind: 'finished', step: { heads: [] } });
    await world.ask('Hi');
    expect(provider.requests[1]?.messages.slice(1)).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  it('that speaks is shown, kept and delivered as every other', async () => {
    const provider = new ScriptedProvider(says('The plants', ' are dry.'));
    const world = await openWorld(databases, { provider });
    const { turn, outcome } = await world.ask('Anything?', {}, { quietToken: TOKEN, entry: 'run' });
    expect(turn?.final?.content).toBe('The plants are dry.');
    expect(world.shown()).toBe('The plants are dry.');
    expect(world.order).toEqual(['open', 'settle', 'finish', 'turn_ended']);
    expect(outcome).toMatchObject({ step: { heads: [{ lane: 'out:telegram:42' }] } });
  });

  it('shows no work of its tools when it has nothing to say after all', async () => {
    const provider = new ScriptedProvider(asks([{ name: 'list_dir', args: { path: '.' } }]), says(TOKEN));
    const world = await openWorld(databases, { provider, tools: [listDir] });
    const { turn } = await world.ask('Anything?', {}, { quietToken: TOKEN, entry: 'run' });
    expect(turn?.final).toBeUndefined();
    expect(world.types()).toEqual(['turn_started', 'turn_ended']);
    expect(world.opened).toEqual([]);
  });
});
