/** Joining deltas under load: nothing is held while idle, nothing beyond the limit, and no text or order changes. */
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOAD_DELAY_MS, MAX_JOIN_MS } from '../../src/bus/delta-joiner.ts';
import { createEventBus } from '../../src/bus/event-bus.ts';
import type { TurnEmitter } from '../../src/contracts/bus.ts';
import type { AgentEvent, EventBody } from '../../src/contracts/event.ts';
import { FakeClock } from '../fakes/clock.ts';
import { recordingLog, textOnScreen } from './events.ts';

const RUN = { sessionKey: 'telegram:1', turnId: 't', epoch: 1 } as const;
const chunk = (delta: string, msgId = 'm'): EventBody => ({ type: 'stream_chunk', msgId, delta });

/** A bus with a load set by the test, and everything a listener of the turn receives. */
function loadedBus(delayMs: number) {
  const clock = new FakeClock();
  const load = { delayMs };
  const bus = createEventBus({
    nodeId: 'a',
    log: recordingLog().log,
    clock,
    loopDelayMs: () => load.delayMs,
  });
  const given: AgentEvent[] = [];
  bus.subscribe({ turnId: 't' }, (event) => given.push(event));
  return { bus, turn: bus.turn(RUN), given, clock, load };
}

const deltas = (given: readonly AgentEvent[]): string[] =>
  given.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));

describe('deltas', () => {
  it(`are emitted immediately, one by one, up to a loop delay of ${LOAD_DELAY_MS} ms`, () => {
    const { turn, given, clock } = loadedBus(LOAD_DELAY_MS);
    turn.emit(chunk('a'));
    turn.emit(chunk('b'));
    expect(deltas(given)).toEqual(['a', 'b']);
    expect(clock.waiting).toBe(0);
  });

  it(`are one event after ${MAX_JOIN_MS} ms when the loop delay is above ${LOAD_DELAY_MS} ms`, async () => {
    const { turn, given, clock } = loadedBus(LOAD_DELAY_MS + 0.1);
    turn.emit(chunk('a'));
    await clock.advance(MAX_JOIN_MS - 1);
    turn.emit(chunk('b'));
    expect(deltas(given)).toEqual([]);
    await clock.advance(1);
    expect(given).toMatchObject([{ type: 'stream_chunk', msgId: 'm', delta: 'ab', eventSeq: 1 }]);
  });

  it('are not held past their time when the timer itself is late', async () => {
    const { turn, given, clock } = loadedBus(100);
    const late = loadedBus(100);
    // This clock's timer never fires: only the next delta can notice.
    late.clock.after = () => () => undefined;
    late.turn.emit(chunk('a'));
    turn.emit(chunk('a'));
    await late.clock.advance(MAX_JOIN_MS);
    late.turn.emit(chunk('b'));
    expect(deltas(late.given)).toEqual(['ab']);
    await clock.advance(MAX_JOIN_MS);
    expect(deltas(given)).toEqual(['a']);
  });

  it('are emitted immediately under load when they are the first after another event', () => {
    const { turn, given } = loadedBus(100);
    turn.emit({ type: 'stream_start', msgId: 'm' });
    turn.emit(chunk('a'));
    turn.emit(chunk('b'));
    expect(deltas(given)).toEqual(['a']);
    turn.emit({ type: 'stream_start', msgId: 'n' });
    turn.emit(chunk('c', 'n'));
    expect(deltas(given)).toEqual(['a', 'b', 'c']);
  });

  it('come before any other event of their turn', () => {
    const { turn, given } = loadedBus(100);
    turn.emit(chunk('a'));
    turn.emit(chunk('b'));
    turn.emit({ type: 'tool_call', toolCallId: 'c', name: 'read_file', args: {} });
    expect(given.map(({ type, eventSeq }) => [type, eventSeq])).toEqual([
      ['stream_chunk', 1],
      ['tool_call', 2],
    ]);
  });

  it('are emitted with the next one, when held, once the load is over', () => {
    const { turn, given, load } = loadedBus(100);
    turn.emit(chunk('a'));
    load.delayMs = 0;
    turn.emit(chunk('b'));
    expect(deltas(given)).toEqual(['ab']);
  });

  it("of one model call are never joined with another’s, nor thinking with text, and an agent's keep their order", () => {
    const { turn, given } = loadedBus(100);
    turn.emit(chunk('a', 'm1'));
    turn.emit({ type: 'thinking_delta', msgId: 'm1', delta: 'hm' });
    turn.emit(chunk('x', 'm1'), { agentId: 'child' });
    turn.emit(chunk('b', 'm1'));
    turn.emit(chunk('c', 'm1'));
    turn.emit(chunk('y', 'm1'), { agentId: 'child' });
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    expect(given).toMatchObject([
      { type: 'stream_chunk', delta: 'a' },
      { type: 'thinking_delta', delta: 'hm' },
      { type: 'stream_chunk', delta: 'xy', agentId: 'child', isSubagent: true },
      { type: 'stream_chunk', delta: 'bc' },
      { type: 'turn_ended' },
    ]);
  });

  it('are emitted if they are held when the bus stops', async () => {
    const { bus, turn, given, clock } = loadedBus(100);
    turn.emit(chunk('a'));
    await bus.stop();
    expect(deltas(given)).toEqual(['a']);
    expect(clock.waiting).toBe(0);
  });

  it('of many turns share few timers', async () => {
    const { bus, clock } = loadedBus(100);
    const turns = Array.from({ length: 50 }, (_, index) => bus.turn({ ...RUN, turnId: `${index}` }));
    for (const turn of turns) {
      turn.emit(chunk('a'));
      expect(clock.waiting).toBe(1);
    }
    await clock.advance(MAX_JOIN_MS);
    expect(clock.waiting).toBe(0);
  });
});

/** One step of a turn under changing load. */
type Step =
  | {
      kind: 'delta';
      type: 'stream_chunk' | 'thinking_delta';
      msgId: string;
      agentId: string | undefined;
      delta: string;
    }
  | { kind: 'other'; name: string }
  | { kind: 'load'; delayMs: number }
  | { kind: 'wait'; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('delta' as const),
      type: fc.constantFrom('stream_chunk' as const, 'thinking_delta' as const),
      msgId: fc.constantFrom('m1', 'm2'),
      agentId: fc.constantFrom(undefined, 'child'),
      delta: fc.string({ unit: 'binary', maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('other' as const), name: fc.string({ maxLength: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('load' as const), delayMs: fc.constantFrom(0, 5, 6, 80) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(40) }) },
);

async function take(
  one: Step,
  turn: TurnEmitter,
  clock: FakeClock,
  load: { delayMs: number },
): Promise<void> {
  if (one.kind === 'load') load.delayMs = one.delayMs;
  else if (one.kind === 'wait') await clock.advance(one.ms);
  else if (one.kind === 'other') turn.emit({ type: 'plan_cancelled', reason: one.name });
  else {
    const { type, msgId, delta, agentId } = one;
    turn.emit({ type, msgId, delta }, agentId === undefined ? undefined : { agentId });
  }
}

describe('joined or not', () => {
  it('every stream of a turn has the same text between the same events, and the turn has the stored text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const plain = loadedBus(0);
        const { turn, given, clock, load } = loadedBus(0);
        for (const one of steps) {
          if (one.kind !== 'load' && one.kind !== 'wait')
            await take(one, plain.turn, plain.clock, plain.load);
          await take(one, turn, clock, load);
          // When idle, everything emitted has already reached the listener.
          const isIdle = one.kind === 'delta' && load.delayMs <= LOAD_DELAY_MS;
          expect(!isIdle || isDeepStrictEqual(textBetween(given), textBetween(plain.given))).toBe(true);
        }
        await clock.advance(MAX_JOIN_MS);
        expect(textBetween(given)).toEqual(textBetween(plain.given));
        expect(textOnScreen(given)).toBe(textOnScreen(plain.given));
        expect(given.map(({ eventSeq }) => eventSeq)).toEqual(given.map((_, index) => index + 1));
        expect(clock.waiting).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});

/** The text of each stream between any two non-delta events, and those events. */
function textBetween(given: readonly AgentEvent[]): unknown[] {
  const stretches: Record<string, string>[] = [{}];
  const others: string[] = [];
  for (const event of given) {
    if (event.type === 'stream_chunk' || event.type === 'thinking_delta') {
      const stretch = stretches.at(-1)!;
      const key = `${event.type} ${event.msgId} ${event.agentId ?? ''}`;
      stretch[key] = (stretch[key] ?? '') + event.delta;
    } else {
      others.push(event.type === 'plan_cancelled' ? event.reason : event.type);
      stretches.push({});
    }
  }
  return [stretches, others];
}
