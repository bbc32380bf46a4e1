/** Turns that may stay silent: the token is neither shown nor kept, and anything else is shown in full. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_HELD, MAX_SILENT_REST, openLiveOutput } from '../../../src/agent/turn/silent-reply.ts';
import { Reply } from '../../../src/agent/turn/reply.ts';
import { partialTurn } from '../../fakes/agent/turn.ts';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { describeStore } from '../../database.ts';
import { asks, fails, fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';

const TOKEN = 'HEARTBEAT_OK';
const quietly = { silentToken: TOKEN, entry: 'run' as const };
const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/** A screen that records how often it was opened, and what it showed. */
function screenOf(over: { silentToken?: string | undefined; textSoFar?: string } = {}) {
  const events: EventBody[] = [];
  const seen = { opened: 0, settled: 0, events };
  const { silentToken, textSoFar = '' } = { silentToken: TOKEN, ...over };
  const reply = new Reply();
  reply.addCall(textSoFar);
  const screen = openLiveOutput(
    partialTurn({ silentToken, reply }),
    () => {
      seen.opened += 1;
      return { settle: async () => void (seen.settled += 1), shownOn: () => [] };
    },
    { emit: (body) => void events.push(body) },
  );
  const say = (...deltas: string[]): void => {
    screen.emit({ type: 'stream_start', msgId: 'm1' });
    for (const delta of deltas) screen.emit({ type: 'stream_chunk', msgId: 'm1', delta });
    screen.emit({ type: 'stream_end', msgId: 'm1', content: deltas.join(''), usage });
  };
  const end = (text: string) => screen.finish({ reason: 'completed', text, isError: false });
  return { screen, seen, say, end };
}
const chunks = (events: EventBody[]): string =>
  events.map((event) => (event.type === 'stream_chunk' ? event.delta : '')).join('');

describe('a live message with a silent token', () => {
  it.each([
    'HEARTBEAT_OK',
    '**HEARTBEAT_OK**',
    '`heartbeat_ok`.',
    '\n> "HEARTBEAT OK" 👍\n',
    'HEARTBEAT_OK\n\nHEARTBEAT_OK',
    '',
  ])('stays closed for %j, letter by letter', async (answer) => {
    const { screen, seen, say, end } = screenOf();
    say(...answer.split(''));
    expect(end(answer)).toMatchObject({ text: '', silent: true });
    await screen.settle();
    expect(seen).toEqual({ opened: 0, settled: 0, events: [] });
  });

  it.each([
    ['HEARTBEAT_OK — nothing is due.', '— nothing is due.'],
    ['Nothing is due. HEARTBEAT\\_OK', 'Nothing is due.'],
    [
      'I have looked at the list, so: **heartbeat_ok**. Have a nice day!',
      'I have looked at the list, so: . Have a nice day!',
    ],
    ['Okay.\n\n`HEARTBEAT_OK`', 'Okay.'],
    [`${TOKEN} ${'word '.repeat(59)}`, 'word '.repeat(59).trim()],
  ])('stays closed for %j, and reports what was withheld', (answer, unsaid) => {
    const { seen, say, end } = screenOf();
    say(...answer.split(''));
    expect(end(answer)).toMatchObject({ text: '', silent: true, unsaid });
    expect(seen).toMatchObject({ opened: 0, events: [] });
  });

  it.each(['HEART', 'Hello', '👍', 'HEARTBEAT_OKAY', 'x'.repeat(MAX_SILENT_REST + 1)])(
    'shows the whole of %j',
    async (answer) => {
      const { screen, seen, say, end } = screenOf();
      say(...answer.split(''));
      expect(end(answer)).toMatchObject({ text: answer, silent: false });
      await screen.settle();
      expect(seen).toMatchObject({ opened: 1, settled: 1 });
      expect(chunks(seen.events)).toBe(answer);
    },
  );

  it(`shows an answer of more than ${MAX_SILENT_REST} characters without the token, wherever that stands`, () => {
    const report = 'The plants are dry. '.repeat(16).trim();
    for (const answer of [`${TOKEN}\n\n${report}`, `${report}\n**${TOKEN}**`]) {
      const { seen, say, end } = screenOf();
      say(...answer.split(' '));
      expect(end(answer)).toMatchObject({ text: report, silent: false });
      expect(seen.events).toEqual([{ type: 'snapshot', text: report }]);
    }
  });

  it('never shows the token, and shows nothing twice, in whatever pieces an answer comes', () => {
    const pieces = fc.array(
      fc.oneof(fc.string({ maxLength: 4 }), fc.constant(TOKEN), fc.constant(` ${TOKEN} `)),
    );
    const told = fc.property(pieces, fc.nat(12), (deltas, cut) => {
      const all = [TOKEN.slice(0, cut), ...deltas];
      const { seen, say, end } = screenOf();
      say(...all);
      const { silent, text } = end(all.join(''));
      if (silent) return seen.opened === 0 && seen.events.length === 0;
      const last = seen.events.findLast((event) => event.type === 'snapshot');
      const shown = last?.type === 'snapshot' ? last.text : chunks(seen.events);
      return shown === text && !/(?<![\p{L}\p{N}])heartbeat_ok(?![\p{L}\p{N}])/iu.test(shown);
    });
    expect(fc.check(told)).toMatchObject({ failed: false });
  });

  it('shows a failure although the model had written the token before it', () => {
    const { screen, seen } = screenOf();
    const failure = `${TOKEN} Sorry, the model is away.`;
    expect(screen.finish({ reason: 'failed', text: failure, isError: true })).toMatchObject({
      text: 'Sorry, the model is away.',
      silent: false,
    });
    expect(seen.events).toEqual([{ type: 'snapshot', text: 'Sorry, the model is away.' }]);
  });

  it('drops the text of a call that is retried', () => {
    const { screen, seen, say, end } = screenOf();
    screen.emit({ type: 'stream_chunk', msgId: 'm1', delta: 'HEARTB' });
    screen.emit({ type: 'stream_reset', msgId: 'm1' });
    say('HEARTBEAT_OK');
    expect(end(TOKEN).silent).toBe(true);
    expect(seen.opened).toBe(0);
  });

  it('is open from the start without a token, and with one not even after a crash', () => {
    expect(screenOf({ silentToken: undefined }).seen.opened).toBe(1);
    expect(screenOf({ textSoFar: 'The plants' }).seen.opened).toBe(0);
  });

  it('shows the text from before a crash with the rest of the answer', () => {
    const { seen, say, end } = screenOf({ textSoFar: 'I have looked.' });
    say('\n\n', 'The plants are dry.');
    expect(end('I have looked.\n\nThe plants are dry.').silent).toBe(false);
    expect(seen.events[0]).toEqual({ type: 'snapshot', text: 'I have looked.' });
    expect(chunks(seen.events)).toBe('\n\nThe plants are dry.');
  });

  it('drops everything that the turn discards, before and after a crash', () => {
    const { screen, seen, say, end } = screenOf({ textSoFar: 'HEART' });
    screen.emit({ type: 'stream_chunk', msgId: 'm1', delta: 'BEAT' });
    screen.emit({ type: 'snapshot', text: '' });
    say('Sorry.');
    end('Sorry.');
    expect(seen.events.filter(({ type }) => type === 'snapshot')).toEqual([]);
    expect(chunks(seen.events)).toBe('Sorry.');
  });

  it(`holds at most ${MAX_HELD} events, and the whole text`, () => {
    const { screen, seen, end } = screenOf();
    const call: EventBody = { type: 'tool_call', toolCallId: 'c', name: 'list_dir', args: {} };
    for (let n = 0; n < MAX_HELD + 50; n += 1) screen.emit(call);
    for (let n = 0; n < 1_000; n += 1) screen.emit({ type: 'stream_chunk', msgId: 'm1', delta: 'word ' });
    expect(seen.events).toEqual([]);
    end('word '.repeat(1_000));
    expect(seen.events.filter(({ type }) => type === 'tool_call')).toHaveLength(MAX_HELD);
    expect(chunks(seen.events)).toBe('word '.repeat(1_000));
    expect(seen.events).toHaveLength(MAX_HELD + 1);
  });

  it('lets notices and questions for approval through at once', () => {
    const { screen, seen } = screenOf();
    const notice: EventBody = { type: 'notice', code: 'model_changed', text: 'another model answers' };
    screen.emit(notice);
    expect(seen.events).toEqual([notice]);
  });
});

describeStore('a turn with a silent token', (databases) => {
  it('leaves no answer, no delivery and no context when it has nothing to report', async () => {
    const provider = new ScriptedProvider(says('HEART', 'BEAT_OK'), says('Hello!'));
    const scenario = await openScenario(databases, { provider, profile: { iterationBudgetEnabled: false } });
    const { turn, outcome } = await scenario.ask('Anything?', {}, quietly);
    expect(turn).toMatchObject({ state: 'done', reason: 'completed' });
    expect(turn?.final).toBeUndefined();
    expect(scenario.types()).toEqual(['turn_started', 'turn_ended']);
    expect(scenario.order).toEqual(['finish', 'turn_ended']);
    expect(outcome).toEqual({ kind: 'finished', step: { heads: [] } });
    expect(await scenario.store.ledger.messages('telegram:42', { limit: 10 })).toEqual([]);
    await scenario.ask('Hi');
    expect(provider.requests[1]?.messages.slice(1, -1)).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  it('is shown, stored and delivered like any other when it has an answer', async () => {
    const provider = new ScriptedProvider(says('The plants', ' are dry.'));
    const scenario = await openScenario(databases, { provider });
    const { turn, outcome } = await scenario.ask('Anything?', {}, quietly);
    expect(turn?.final?.content).toBe('The plants are dry.');
    expect(scenario.shown()).toBe('The plants are dry.');
    expect(scenario.order).toEqual(['open', 'settle', 'finish', 'turn_ended']);
    expect(outcome).toMatchObject({ step: { heads: [{ lane: 'out:telegram:42' }] } });
  });

  it('shows no tool events when it turns out to have nothing to report', async () => {
    const provider = new ScriptedProvider(asks([{ name: 'list_dir', args: { path: '.' } }]), says(TOKEN));
    const scenario = await openScenario(databases, { provider, tools: [listDir] });
    const { turn } = await scenario.ask('Anything?', {}, quietly);
    expect(turn?.final).toBeUndefined();
    expect(scenario.types()).toEqual(['turn_started', 'turn_ended']);
    expect(scenario.opened).toEqual([]);
  });

  it.each([
    ['stopped', 'HEARTB'],
    ['stopped', ''],
    ['interrupted', 'HEARTBEAT_OK'],
  ] as const)('shows nothing when it is %s after %j', async (code, said) => {
    const provider = new ScriptedProvider(said === '' ? fallsSilent() : fallsSilent(said));
    const scenario = await openScenario(databases, { provider });
    const { head, turnId } = await scenario.say('Anything?', {}, quietly);
    const hand = new AbortController();
    const running = scenario.run(head, hand.signal);
    await provider.silence();
    hand.abort(new LaneAbort(code));
    expect(await running).toEqual({ kind: 'finished', step: { heads: [] } });
    const turn = await scenario.store.ledger.turn(turnId);
    expect(turn).toMatchObject({ state: 'done', reason: code });
    expect(turn?.final).toBeUndefined();
    expect(scenario.types()).toEqual(['turn_started', 'turn_ended']);
    expect(scenario.opened).toEqual([]);
  });

  it('shows nothing when the model gives an empty answer', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider(says('')) });
    const { turn } = await scenario.ask('Anything?', {}, quietly);
    expect(turn?.reason).toBe('completed');
    expect(turn?.final).toBeUndefined();
    expect(scenario.opened).toEqual([]);
  });

  it('shows the reason when it fails, without the token it had started', async () => {
    const broken = new ProviderError('bad_response', 'The stream was cut off.');
    const provider = new ScriptedProvider(fails(broken, 'HEART'), fails(broken, 'HEARTBEAT_'));
    const scenario = await openScenario(databases, { provider });
    const { turn } = await scenario.ask('Anything?', {}, quietly);
    expect(turn).toMatchObject({ reason: 'failed', final: { isError: true } });
    expect(turn?.final?.content).toMatch(/^Sorry, .*The model sent a broken answer\./);
    expect(scenario.shown()).toBe(turn?.final?.content);
    expect(JSON.stringify(scenario.events)).not.toContain('HEART');
  });

  it('never shows its token when it continues after a crash', async () => {
    const store = await databases.open();
    const list = asks([{ name: 'list_dir', args: { path: '.' } }], TOKEN);
    const first = new TurnScenario({ store, provider: new ScriptedProvider(list), tools: [listDir], around });
    await first.start();
    const { head, turnId } = await first.say('Anything?', {}, quietly);
    await expect(first.run(head)).rejects.toThrow('The process died.');
    await first.close();
    const provider = new ScriptedProvider(says(TOKEN));
    const second = await openScenario(databases, { store, provider, tools: [listDir] });
    await second.run(await second.sweep());
    expect(await store.ledger.turn(turnId)).toMatchObject({ state: 'done', reason: 'completed' });
    expect(await store.ledger.messages('telegram:42', { limit: 10 })).toEqual([]);
    expect(second.textsSoFar).toEqual(['']);
    expect(JSON.stringify([first.events, second.events])).not.toContain(TOKEN);
    expect([...first.opened, ...second.opened]).toEqual([]);
  });
});

/** Dies after the call's result was committed. */
function around(ledger: Ledger): Ledger {
  return {
    ...ledger,
    toolResult: async (...args) => {
      await ledger.toolResult(...args);
      throw new Error('The process died.');
    },
  };
}
