/** The event bus across nodes: batches, losses and latecomers, over a network in this process that can lose. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  BATCH_BYTES,
  BATCH_EVERY_MS,
  HELLO_EVERY_MS,
  MAX_PEERS,
  MAX_WAITING_RECORDS,
  PEER_GONE_MS,
  RECORD_BYTES,
} from '../../src/bus/node-link.ts';
import {
  ASK_AGAIN_MS,
  ASKS_AT_END,
  createEventBus,
  ENDS_TOLD_MS,
  RECONCILE_EVERY_MS,
} from '../../src/bus/event-bus.ts';
import type { StoredTurns } from '../../src/bus/stored-ends.ts';
import type { TurnStatus } from '../../src/protocol/sessions/session-list.ts';
import { type AgentEvent, type EventBody, FIRST_EVENT_ID, sseId } from '../../src/protocol/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { recordingLog, TestNetwork, textOnScreen } from './events.ts';

const KEY = 'telegram:1';
const RUN = { sessionKey: KEY, turnId: 't', epoch: 1 } as const;
const chunk = (delta: string, msgId = 'm'): EventBody => ({ type: 'stream_chunk', msgId, delta });

const network = { current: new TestNetwork() };
const open: (() => Promise<void>)[] = [];

async function node(nodeId: string, turns?: StoredTurns) {
  const clock = { ...systemClock, monotonicMs: () => Date.now() };
  const { log, lines } = recordingLog();
  const bus = createEventBus({
    nodeId,
    log,
    clock,
    fanout: network.current.fanout(),
    ...(turns && { turns }),
  });
  const heard: AgentEvent[] = [];
  bus.subscribe({}, (event) => heard.push(event));
  await bus.start();
  open.push(() => bus.stop());
  return { bus, heard, lines };
}

/** Two nodes that know about each other. */
async function twoNodes() {
  const [a, b] = [await node('a'), await node('b')];
  await flush();
  network.current.batches = [];
  return { a, b };
}

const flush = (): Promise<unknown> => vi.advanceTimersByTimeAsync(3 * BATCH_EVERY_MS);

beforeEach(() => {
  vi.useFakeTimers();
  network.current = new TestNetwork();
});

afterEach(async () => {
  for (const close of open.splice(0)) await close();
  if (vi.getTimerCount() > 0) throw new Error('a timer was left behind');
  vi.useRealTimers();
});

describe('two nodes', () => {
  it('send each other events in order and in one batch, and do not receive their own', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    for (let index = 0; index < 40; index += 1) turn.emit(chunk(`${index} `));
    expect(b.heard).toEqual([]);
    await flush();
    expect(b.heard).toEqual(a.heard);
    expect(a.heard).toHaveLength(40);
    expect(network.current.batches).toHaveLength(1);
    expect(b.bus.replay(KEY, '1-38').events.map(sseId)).toEqual(['1-39', '1-40']);
  });

  it('send batches no more often than every interval, and none over the size limit', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    const big = 'ü'.repeat(50_000);
    turn.emit({ type: 'tool_result', toolCallId: 'c', name: 'read_file', result: big, isError: false });
    for (let index = 0; index < 20; index += 1) {
      turn.emit(chunk('word '));
      await vi.advanceTimersByTimeAsync(BATCH_EVERY_MS / 5);
    }
    const lengths = network.current.batches.map((batch) => Buffer.byteLength(batch));
    expect(Math.max(...lengths)).toBeLessThanOrEqual(BATCH_BYTES);
    expect(lengths.length).toBeLessThanOrEqual(Math.ceil(100_200 / 7_400) + 4 + 1);
    await flush();
    expect(b.heard).toEqual(a.heard);
  });

  it('ask again for lost text if the first question is lost with it', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('one '));
    await flush();
    network.current.lose = () => true;
    turn.emit(chunk('two '));
    await flush();
    // From here on everything but the questions of the other node arrives.
    network.current.lose = (batch) => batch.startsWith('b ');
    turn.emit(chunk('three '));
    await flush();
    expect(textOnScreen(b.heard)).toBe('one three ');
    network.current.lose = () => false;
    await vi.advanceTimersByTimeAsync(ASK_AGAIN_MS);
    turn.emit(chunk('four'));
    await flush();
    expect(textOnScreen(b.heard)).toBe('one two three four');
  });

  it('deliver the end of a turn after its lost text, and once', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('one '));
    await flush();
    network.current.lose = () => true;
    turn.emit(chunk('two'));
    await flush();
    network.current.lose = () => false;
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    await flush();
    await flush();
    expect(textOnScreen(b.heard)).toBe('one two');
    expect(b.heard.map(({ type }) => type)).toEqual(['stream_chunk', 'snapshot', 'turn_ended']);
    expect(sseId(b.heard.at(-1)!)).toBe(sseId(a.heard.at(-1)!));
    expect(textOnScreen(b.bus.replay(KEY, FIRST_EVENT_ID).events)).toBe('one two');
  });

  it(`deliver the end of a turn without its lost text after ${ASKS_AT_END} questions without an answer`, async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('one '));
    await flush();
    network.current.lose = () => true;
    turn.emit(chunk('two'));
    await flush();
    network.current.lose = (batch) => batch.startsWith('b ');
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    await flush();
    await vi.advanceTimersByTimeAsync((ASKS_AT_END - 1) * ASK_AGAIN_MS);
    expect(b.heard.map(({ type }) => type)).toEqual(['stream_chunk']);
    await vi.advanceTimersByTimeAsync(ASK_AGAIN_MS);
    expect(b.heard.map(({ type }) => type)).toEqual(['stream_chunk', 'turn_ended']);
  });

  it('replace a lost delta with a snapshot', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn({ ...RUN, textSoFar: 'Once ' });
    turn.emit(chunk('upon '));
    await flush();
    network.current.lose = () => true;
    turn.emit(chunk('a '));
    await flush();
    network.current.lose = () => false;
    turn.emit(chunk('time'));
    await flush();
    const types = b.heard.map((event) => event.type);
    expect(types).toEqual(['snapshot', 'stream_chunk', 'stream_chunk', 'snapshot']);
    expect(b.heard[0]).toMatchObject({ text: 'Once ' });
    expect(b.heard[3]).toMatchObject({ text: 'Once upon a time', epoch: 1, eventSeq: 3 });
    turn.emit(chunk('!'));
    await flush();
    expect(textOnScreen(b.heard)).toBe('Once upon a time!');
    expect(textOnScreen(b.bus.replay(KEY, '9-9').events)).toBe('Once upon a time!');
  });

  it('send the full text to a node that joined during a turn', async () => {
    const { a } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('Before. '));
    await flush();
    const late = await node('late');
    await flush();
    turn.emit(chunk('After.'));
    await flush();
    expect(late.heard.at(-1)).toMatchObject({ type: 'snapshot', text: 'Before. After.' });
    expect(textOnScreen(late.bus.replay(KEY, undefined).events)).toBe('Before. After.');
  });

  it('correct their readers when a crashed turn resumes on another node, and ignore the dead run', async () => {
    const { a, b } = await twoNodes();
    const dead = a.bus.turn(RUN);
    dead.emit(chunk('Kept. ', 'm1'));
    dead.emit(chunk('Brok', 'm2'));
    await flush();
    const next = b.bus.turn({ ...RUN, epoch: 2, textSoFar: 'Kept. ' });
    next.emit({ type: 'stream_reset', msgId: 'm2' });
    next.emit(chunk('Whole.', 'm3'));
    await flush();
    dead.emit(chunk('en', 'm2'));
    await flush();
    expect(textOnScreen(a.heard)).toBe('Kept. Whole.');
    expect(textOnScreen(b.heard)).toBe('Kept. Whole.');
    expect(a.heard.some((event) => event.type === 'stream_chunk' && event.delta === 'en')).toBe(false);
  });

  it('pass on events outside a turn and stop hints', async () => {
    const { a, b } = await twoNodes();
    const stopped: string[] = [];
    const leave = b.bus.stopNotifier.listen((lane) => stopped.push(lane));
    a.bus.emit(KEY, { type: 'heartbeat_tick' });
    a.bus.stopNotifier.notify('in:telegram:1');
    await flush();
    expect(b.heard).toMatchObject([{ type: 'heartbeat_tick', sessionKey: KEY }]);
    expect(stopped).toEqual(['in:telegram:1']);
    leave();
    a.bus.stopNotifier.notify('in:telegram:1');
    await flush();
    expect(stopped).toHaveLength(1);
  });
});

describe('limits between nodes', () => {
  const result = (length: number): EventBody => ({
    type: 'tool_result',
    toolCallId: 'c',
    name: 'read_file',
    result: 'x'.repeat(length),
    isError: false,
  });

  it(`carry a record of ${RECORD_BYTES} bytes, and send a snapshot instead of a longer one`, async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(result(0));
    const around = Buffer.byteLength(JSON.stringify({ event: a.heard[0] }));
    turn.emit(result(RECORD_BYTES - around));
    await flush();
    expect(b.heard).toHaveLength(2);
    turn.emit(result(RECORD_BYTES - around + 1));
    turn.emit(chunk('text'));
    await flush();
    expect(b.heard.slice(2).map((event) => event.type)).toEqual(['stream_chunk', 'snapshot']);
    expect(b.heard.at(-1)).toMatchObject({ text: 'text', eventSeq: 4 });
    expect(a.lines.join('')).toContain('node_records_dropped');
  });

  it(`let ${MAX_WAITING_RECORDS} records wait, and send a snapshot instead of more`, async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    for (let index = 0; index < MAX_WAITING_RECORDS; index += 1) turn.emit(chunk('x'));
    await flush();
    expect(b.heard).toHaveLength(MAX_WAITING_RECORDS - 1);
    turn.emit(chunk('y'));
    await flush();
    expect(textOnScreen(b.heard)).toBe(`${'x'.repeat(MAX_WAITING_RECORDS)}y`);
  });

  it(`receive from at most ${MAX_PEERS} other nodes`, async () => {
    const { a } = await twoNodes();
    const far = network.current.fanout();
    const hello = (node: string): void => {
      far.publish(`${node} 1 -\n{"event":{"type":"heartbeat_tick","sessionKey":"telegram:9","at":1}}\n`);
    };
    for (let index = 1; index <= MAX_PEERS; index += 1) hello(`n${index}`);
    expect(a.heard).toHaveLength(MAX_PEERS - 1);
  });
});

describe('a single node', () => {
  it('sends no batch of events, neither before another node joins nor after it leaves', async () => {
    const a = await node('a');
    await flush();
    network.current.batches = [];
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('x'));
    await flush();
    expect(network.current.batches).toEqual([]);
    const b = await node('b');
    await flush();
    await b.bus.stop();
    await vi.advanceTimersByTimeAsync(PEER_GONE_MS + HELLO_EVERY_MS);
    network.current.batches = [];
    turn.emit(chunk('y'));
    await flush();
    expect(network.current.batches).toEqual([]);
  });
});

describe('the last events of a turn', () => {
  const LOOKS = 3 * RECONCILE_EVERY_MS;
  const answer = { role: 'assistant', isPlan: false, isError: false, createdAt: new Date() } as const;
  const final = { ...answer, seq: 2, turnId: 't', content: 'half and half' };
  const DONE: TurnStatus = { state: 'done', reason: 'max_iterations', final };

  it('reach the readers of another node although they were lost, with the numbers that its own node gave them', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('begin '));
    await flush();
    network.current.lose = () => true;
    turn.emit(chunk('middle '));
    turn.emit(chunk('end'));
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    await flush();
    network.current.lose = () => false;
    await vi.advanceTimersByTimeAsync(LOOKS);
    expect(textOnScreen(b.heard)).toBe('begin middle end');
    expect(b.heard.filter(({ type }) => type === 'turn_ended').map(sseId)).toEqual(['1-4']);
    expect(b.bus.replay(KEY, '1-4').events).toEqual([]);
  });

  it('reach them although all events of a short turn were lost, or only the end', async () => {
    const { a, b } = await twoNodes();
    network.current.lose = () => true;
    const short = a.bus.turn(RUN);
    short.emit(chunk('short'));
    short.emit({ type: 'turn_ended', reason: 'completed' });
    await flush();
    network.current.lose = () => false;
    const long = a.bus.turn({ ...RUN, sessionKey: 'telegram:2', turnId: 'u' });
    long.emit(chunk('whole'));
    await flush();
    network.current.lose = () => true;
    long.emit({ type: 'turn_ended', reason: 'stopped' });
    await flush();
    network.current.lose = () => false;
    await vi.advanceTimersByTimeAsync(LOOKS);
    const ends = b.heard.filter(({ type }) => type === 'turn_ended').map(({ turnId }) => turnId);
    expect(new Set(ends)).toEqual(new Set(['t', 'u']));
    expect(ends).toHaveLength(2);
    expect(textOnScreen(b.heard.filter(({ turnId }) => turnId === 't'))).toBe('short');
    expect(b.heard.filter(({ turnId }) => turnId === 'u').map(({ type }) => type)).toEqual([
      'stream_chunk',
      'turn_ended',
    ]);
  });

  it('are read from the database when their node is gone, and only when the turn has ended', async () => {
    const stored = new Map<string, TurnStatus>([['t', { state: 'running' }]]);
    const turns = {
      unfinishedTurns: (ids: readonly string[]) =>
        Promise.resolve(new Set(ids.filter((id) => stored.get(id)?.state === 'running'))),
      turn: (id: string) => Promise.resolve(stored.get(id)),
    };
    const [a, b] = [await node('a'), await node('b', turns)];
    await flush();
    a.bus.turn(RUN).emit(chunk('half'));
    await flush();
    network.current.lose = () => true;
    await vi.advanceTimersByTimeAsync(LOOKS);
    expect(b.heard.map(({ type }) => type)).toEqual(['stream_chunk']);
    stored.set('t', DONE);
    await vi.advanceTimersByTimeAsync(LOOKS);
    expect(textOnScreen(b.heard)).toBe('half and half');
    expect(b.heard.at(-1)).toMatchObject({ type: 'turn_ended', turnId: 't', reason: 'max_iterations' });
    network.current.lose = () => false;
    await vi.advanceTimersByTimeAsync(LOOKS);
    expect(b.heard.filter(({ type }) => type === 'turn_ended')).toHaveLength(1);
  });

  it('cost nothing while nothing is lost', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('word '));
    await vi.advanceTimersByTimeAsync(LOOKS);
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    await vi.advanceTimersByTimeAsync(2 * LOOKS);
    expect(b.heard).toEqual(a.heard);
    expect(network.current.batches.filter((batch) => /"want"|"state"/.test(batch))).toHaveLength(1);
    const told = network.current.batches.filter((batch) => batch.includes('"runs"'));
    expect(told).toHaveLength((LOOKS + ENDS_TOLD_MS - 1_000) / RECONCILE_EVERY_MS);
  });
});
