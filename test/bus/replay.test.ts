/** What a reconnecting reader receives: the edges of the rings, and snapshots that match exactly what was said. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RING_BYTES, RING_EVENTS, RING_KEPT_MS } from '../../src/protocol/bus.ts';
import { createEventBus } from '../../src/bus/event-bus.ts';
import { EVENT_OVERHEAD_BYTES } from '../../src/bus/turn-ring.ts';
import { MAX_RINGS, RINGS_BYTES } from '../../src/bus/turn-rings.ts';
import { type AgentEvent, type EventBody, sseId } from '../../src/protocol/event.ts';
import { FakeClock } from '../fakes/clock.ts';
import { recordingLog, textOnScreen } from './events.ts';

const KEY = 'telegram:1';

function setUp() {
  const clock = new FakeClock();
  const bus = createEventBus({ nodeId: 'a', log: recordingLog().log, clock });
  return { bus, clock };
}

const chunk = (delta: string): EventBody => ({ type: 'stream_chunk', msgId: 'm', delta });
const ids = (events: AgentEvent[]): (string | undefined)[] => events.map(sseId);

describe('replay', () => {
  it('returns the events missed since a known id, across turns', () => {
    const { bus } = setUp();
    const first = bus.turn({ sessionKey: KEY, turnId: 't1', epoch: 1 });
    first.emit(chunk('a'));
    first.emit({ type: 'turn_ended', reason: 'completed' });
    bus.turn({ sessionKey: KEY, turnId: 't2', epoch: 2 }).emit(chunk('b'));
    expect(ids(bus.replay(KEY, '1-1').events)).toEqual(['1-2-t1', '2-1']);
    expect(ids(bus.replay(KEY, '2-1').events)).toEqual([]);
    expect(ids(bus.replay(KEY, undefined).events)).toEqual(['2-1']);
  });

  it('returns a snapshot for an unknown epoch, a future position and a malformed id', () => {
    const { bus } = setUp();
    bus.turn({ sessionKey: KEY, turnId: 't', epoch: 5, textSoFar: 'So ' }).emit(chunk('far'));
    for (const id of ['4-1', '6-1', '5-2', 'x', '', '5-', '-1-1']) {
      expect(bus.replay(KEY, id).events).toMatchObject([
        { type: 'snapshot', text: 'So far', epoch: 5, eventSeq: 1, turnId: 't' },
      ]);
    }
    expect(bus.replay('telegram:9', '1-1').events).toMatchObject([{ type: 'snapshot', text: '' }]);
    expect(bus.replay('telegram:9', undefined).events).toEqual([]);
  });

  it('starts with the text of an earlier run for a reader of the whole turn', () => {
    const { bus } = setUp();
    bus.turn({ sessionKey: KEY, turnId: 't', epoch: 5, textSoFar: 'So ' }).emit(chunk('far'));
    const { events } = bus.replay(KEY, undefined);
    expect(events).toMatchObject([
      { type: 'snapshot', text: 'So ', eventSeq: 0 },
      { type: 'stream_chunk', delta: 'far', eventSeq: 1 },
    ]);
  });

  it(`holds ${RING_EVENTS} events and returns a snapshot one event further back`, () => {
    const { bus } = setUp();
    const turn = bus.turn({ sessionKey: KEY, turnId: 't', epoch: 1 });
    for (let index = 0; index < RING_EVENTS; index += 1) turn.emit(chunk('x'));
    expect(bus.replay(KEY, '1-0').events).toHaveLength(RING_EVENTS);
    turn.emit(chunk('y'));
    expect(bus.replay(KEY, '1-1').events).toHaveLength(RING_EVENTS);
    expect(bus.replay(KEY, '1-0').events).toMatchObject([
      { type: 'snapshot', text: `${'x'.repeat(RING_EVENTS)}y`, eventSeq: RING_EVENTS + 1 },
    ]);
  });

  it('holds exactly its byte limit, counted in UTF-8', () => {
    const { bus } = setUp();
    const turn = bus.turn({ sessionKey: KEY, turnId: 't', epoch: 1 });
    const half = 'é'.repeat((RING_BYTES / 2 - EVENT_OVERHEAD_BYTES) / 2);
    turn.emit(chunk(half));
    turn.emit(chunk(half));
    expect(ids(bus.replay(KEY, '1-0').events)).toEqual(['1-1', '1-2']);
    turn.emit(chunk(''));
    expect(bus.replay(KEY, '1-0').events).toMatchObject([{ type: 'snapshot', eventSeq: 3 }]);
    expect(ids(bus.replay(KEY, '1-1').events)).toEqual(['1-2', '1-3']);
  });

  it(`is available for ${RING_KEPT_MS} ms after the end of the turn, then gone`, async () => {
    const { bus, clock } = setUp();
    const turn = bus.turn({ sessionKey: KEY, turnId: 't', epoch: 1 });
    turn.emit(chunk('a'));
    await clock.advance(2 * RING_KEPT_MS);
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    await clock.advance(RING_KEPT_MS - 1);
    bus.turn({ sessionKey: 'telegram:2', turnId: 'u', epoch: 1 });
    expect(ids(bus.replay(KEY, '1-1').events)).toEqual(['1-2-t']);
    expect(bus.replay(KEY, '7-7').events.map((event) => event.type)).toEqual(['snapshot', 'turn_ended']);
    await clock.advance(1);
    bus.turn({ sessionKey: 'telegram:3', turnId: 'v', epoch: 1 });
    expect(bus.replay(KEY, '1-1').events).toMatchObject([{ type: 'snapshot', text: '' }]);
  });

  it(`keeps ${MAX_RINGS} turns, dropping ended ones first, and shares ${RINGS_BYTES} bytes among them`, () => {
    const { bus } = setUp();
    for (let index = 0; index < MAX_RINGS; index += 1) {
      const turn = bus.turn({ sessionKey: `http:${index}`, turnId: `t${index}`, epoch: 1 });
      turn.emit(chunk('a'));
      if (index === 7) turn.emit({ type: 'turn_ended', reason: 'completed' });
    }
    const further = bus.turn({ sessionKey: KEY, turnId: 't', epoch: 1 });
    expect(bus.replay('http:7', '1-1').events).toMatchObject([{ text: '' }]);
    expect(ids(bus.replay('http:0', '1-0').events)).toEqual(['1-1']);
    bus.turn({ sessionKey: 'telegram:2', turnId: 'u', epoch: 1 });
    expect(bus.replay('http:0', '1-0').events).toMatchObject([{ text: '' }]);
    const share = Math.floor(RINGS_BYTES / MAX_RINGS / (EVENT_OVERHEAD_BYTES + 1));
    for (let index = 0; index <= share; index += 1) further.emit(chunk('x'));
    expect(bus.replay(KEY, '1-1').events).toHaveLength(share);
    expect(bus.replay(KEY, '1-0').events).toMatchObject([{ type: 'snapshot', text: 'x'.repeat(share + 1) }]);
  });

  it('gives any reader, from any position, exactly the text of the turn (N-49)', () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ say: fc.string({ maxLength: 4 }), call: fc.nat({ max: 3 }) }) },
      { weight: 1, arbitrary: fc.record({ reset: fc.nat({ max: 3 }) }) },
      { weight: 1, arbitrary: fc.constant({ filler: RING_EVENTS }) },
    );
    const property = fc.property(
      fc.string(),
      fc.array(step, { maxLength: 40 }),
      fc.nat(),
      (base, steps, cut) => {
        const { bus } = setUp();
        const seen: AgentEvent[] = [];
        const turn = bus.turn({ sessionKey: KEY, turnId: 't', epoch: 2, textSoFar: base });
        bus.subscribe({}, (event) => seen.push(event));
        for (const one of steps) {
          if ('say' in one) turn.emit({ type: 'stream_chunk', msgId: `m${one.call}`, delta: one.say });
          else if ('reset' in one) turn.emit({ type: 'stream_reset', msgId: `m${one.reset}` });
          else
            for (let index = 0; index < one.filler; index += 1)
              turn.emit({ type: 'todo_changed', items: [] });
        }
        const whole = base + textOnScreen(seen);
        const place = cut % (seen.length + 1);
        const before: AgentEvent[] = base === '' ? [] : [snapshotOf(base)];
        const after = [...before, ...seen.slice(0, place), ...bus.replay(KEY, `2-${place}`).events];
        expect(textOnScreen(after)).toBe(whole);
        expect(textOnScreen(bus.replay(KEY, undefined).events)).toBe(whole);
        expect(textOnScreen(bus.replay(KEY, '1-1').events)).toBe(whole);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
});

function snapshotOf(text: string): AgentEvent {
  return { sessionKey: KEY, turnId: 't', epoch: 2, eventSeq: 0, at: 0, type: 'snapshot', text };
}
