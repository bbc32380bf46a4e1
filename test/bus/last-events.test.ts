/** The last events of a turn reach the readers of other nodes, whatever is lost on the way. */
import { describe, expect, it, vi } from 'vitest';
import { ENDS_TOLD_MS, LOOK_AFTER_MS, RECONCILE_EVERY_MS } from '../../src/bus/event-bus.ts';
import type { TurnStatus } from '../../src/protocol/sessions/session-list.ts';
import { sseId } from '../../src/protocol/event.ts';
import { chunk, flush, KEY, nodesOnNetwork, RUN, textOnScreen } from './events.ts';

const { network, node, twoNodes } = nodesOnNetwork();

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
    expect(b.heard.filter(({ type }) => type === 'turn_ended').map(sseId)).toEqual(['1-4-t']);
    expect(b.bus.replay(KEY, '1-4-t').events).toEqual([]);
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

  it('reach them as soon as the connection returns, without waiting for the next look', async () => {
    const { a, b } = await twoNodes();
    const turn = a.bus.turn(RUN);
    turn.emit(chunk('begin '));
    await flush();
    network.current.lose = () => true;
    turn.emit(chunk('end'));
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    a.bus.turn({ ...RUN, sessionKey: 'telegram:2', turnId: 'u' }).emit(chunk('new'));
    network.current.resume();
    await flush();
    const of = (id: string) => b.heard.filter(({ turnId }) => turnId === id);
    expect([textOnScreen(of('t')), textOnScreen(of('u'))]).toEqual(['begin end', 'new']);
    expect(of('t').at(-1)?.type).toBe('turn_ended');
  });

  it('are read from the database as soon as the connection returns, when their node is gone', async () => {
    const [unfinishedTurns, turn] = [async () => new Set<string>(), async () => DONE];
    const [a, b] = [await node('a'), await node('b', { unfinishedTurns, turn })];
    await flush();
    a.bus.turn(RUN).emit(chunk('half'));
    await flush();
    await a.bus.stop();
    network.current.resume();
    await vi.advanceTimersByTimeAsync(LOOK_AFTER_MS);
    expect([textOnScreen(b.heard), b.heard.at(-1)?.type]).toEqual(['half and half', 'turn_ended']);
  });

  it('come from their own node with its numbers if it is there, although the database knows the end already', async () => {
    const [unfinishedTurns, turn] = [async () => new Set<string>(), async () => DONE];
    const [a, b] = [await node('a'), await node('b', { unfinishedTurns, turn })];
    await flush();
    const running = a.bus.turn(RUN);
    running.emit(chunk('half'));
    await flush();
    network.current.lose = () => true;
    running.emit(chunk(' and'));
    running.emit(chunk(' half'));
    running.emit({ type: 'turn_ended', reason: 'completed' });
    network.current.resume();
    await vi.advanceTimersByTimeAsync(LOOK_AFTER_MS);
    expect(b.heard.filter(({ type }) => type === 'turn_ended').map(sseId)).toEqual(['1-4-t']);
    // So a reader that goes to the other node gets nothing twice.
    expect(a.bus.replay(KEY, '1-4-t').events).toEqual([]);
  });

  describe('for a reader that moves between nodes that do not reach each other', () => {
    /** Node b has read the end from the database; node a, which ran the turn, cannot be reached from there. */
    async function apart() {
      const stored: { turn: TurnStatus } = { turn: { state: 'running' } };
      const turns = {
        unfinishedTurns: async () => new Set<string>(),
        turn: () => Promise.resolve(stored.turn),
      };
      const [a, b] = [await node('a'), await node('b', turns)];
      await flush();
      const turn = a.bus.turn(RUN);
      turn.emit(chunk('half'));
      await flush();
      network.current.lose = () => true;
      turn.emit(chunk(' and'));
      turn.emit(chunk(' half'));
      turn.emit({ type: 'turn_ended', reason: 'completed' });
      const readEnd = async () => {
        stored.turn = DONE;
        await vi.advanceTimersByTimeAsync(LOOKS);
      };
      return { a, b, readEnd };
    }

    it('come once: the node that ran the turn does not repeat the end that another read from the database', async () => {
      const { a, b, readEnd } = await apart();
      await readEnd();
      const lastId = sseId(b.heard.at(-1)!)!;
      expect(a.heard.map(sseId)).not.toContain(lastId);
      expect(a.bus.replay(KEY, lastId)).toEqual({ events: [], endedTurn: 't' });
      a.bus.turn({ ...RUN, turnId: 'next' }).emit(chunk('more'));
      expect(textOnScreen(a.bus.replay(KEY, lastId).events)).toBe('more');
    });

    it('come once: a node that does not know the end yet repeats nothing of the turn, and says that it has ended', async () => {
      const { a, b, readEnd } = await apart();
      for (const lastId of [sseId(a.heard.at(-1)!)!, a.bus.lastEventId(KEY)]) {
        expect(lastId).toBe('1-4-t');
        expect(b.bus.replay(KEY, lastId)).toEqual({ events: [], endedTurn: 't' });
      }
      await readEnd();
      expect(b.bus.replay(KEY, a.bus.lastEventId(KEY)).events).toEqual([]);
    });

    it('come once, although another node ran the turn again and told of it only later', async () => {
      const { b, readEnd } = await apart();
      await readEnd();
      network.current.lose = () => false;
      const c = await node('c');
      await flush();
      const again = c.bus.turn({ ...RUN, epoch: 2, textSoFar: 'half' });
      again.emit(chunk(' and half'));
      again.emit({ type: 'turn_ended', reason: 'completed' });
      await vi.advanceTimersByTimeAsync(LOOKS);
      expect(b.heard.filter(({ type }) => type === 'turn_ended')).toHaveLength(1);
      expect(textOnScreen(b.heard)).toBe('half and half');
    });
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
