/** What every message bus on every database must do with accepted messages, whatever fails in between. */
import { afterEach, expect, it, vi } from 'vitest';
import type { LaneHandler, LaneOutcome, MessageBus } from '../../src/protocol/bus.ts';
import { createMessageBus } from '../../src/bus/message-bus.ts';
import { FencedError, GatewayError } from '../../src/protocol/errors.ts';
import type { LaneHead, LaneKey, LaneStore } from '../../src/protocol/store/lanes.ts';
import { createLog } from '../../src/ops/log.ts';

/** Intervals of the buses under test: short sweeps for short tests, leases long enough for a busy machine. */
const TEST_INTERVALS = { leaseMs: 3_000, heartbeatMs: 500, sweepMs: 25, flagsMs: 50 };

export interface BusHarness {
  /** The lanes of one database, as two nodes see it. */
  lanes: LaneStore;
  beside: LaneStore;
}

type Behaviour = (head: LaneHead, signal: AbortSignal) => Promise<LaneOutcome>;

/** A node with a bus, and what its handler saw. */
interface Node {
  bus: MessageBus;
  seen: LaneHead[];
  dead: { head: LaneHead; error: GatewayError }[];
  send(lane: LaneKey, dedupe: string, payload?: unknown): Promise<number>;
}

/** The contract. `open` returns lanes without rows, closed with the test. */
export function busContract(open: () => Promise<BusHarness>): void {
  afterEach(async () => {
    for (const bus of started.splice(0)) await bus.stop(1_000);
  });

  it('runs a message sent five times only once, even when the repeats race from two nodes', async () => {
    const { lanes, beside } = await open();
    const [a, b] = [await startNode(lanes, 'a'), await startNode(beside, 'b')];
    const sends = Array.from({ length: 100 }, (_, i) => (i % 2 ? a : b).send('in:t:1', `id-${i % 20}`));
    const seqs = await Promise.all(sends);
    expect(new Set(seqs).size).toBe(20);
    await vi.waitFor(() => expect(a.seen.length + b.seen.length).toBe(20), WAIT);
    expect(new Set([...a.seen, ...b.seen].map((head) => head.dedupe)).size).toBe(20);
  });

  it('runs a session in the order of acceptance, one at a time, in parallel with others', async () => {
    const { lanes, beside } = await open();
    const log: string[] = [];
    let most = 0;
    const running = new Set<LaneKey>();
    const watch = async (head: LaneHead): Promise<void> => {
      if (running.has(head.lane)) log.push('two in one lane');
      running.add(head.lane);
      most = Math.max(most, running.size);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${head.lane}#${head.seq}`);
      running.delete(head.lane);
    };
    const [a, b] = [
      await startNode(lanes, 'a', watching(lanes, watch)),
      await startNode(beside, 'b', watching(beside, watch)),
    ];
    const keys = ['in:t:1', 'in:t:2', 'in:t:3', 'in:t:4'] as const;
    await Promise.all(
      Array.from({ length: 80 }, (_, i) => (i % 3 ? a : b).send(keys[i % 4]!, `${(i * 37) % 80}`)),
    );
    await vi.waitFor(() => expect(log).toHaveLength(80), WAIT);
    for (const key of keys) {
      const own = log.filter((entry) => entry.startsWith(`${key}#`));
      expect(own).toEqual(Array.from({ length: 20 }, (_, i) => `${key}#${i + 1}`));
    }
    expect(most).toBeGreaterThan(1);
  });

  it('lets nothing overtake a message that is being retried', async () => {
    const { lanes } = await open();
    const failing: Behaviour = async (head) => {
      if (head.seq === 1 && head.attempts < 2) {
        return {
          kind: 'retry',
          error: new GatewayError('flaky', 'try again', { retryable: true }),
          delayMs: 60,
        };
      }
      return { kind: 'finished', step: await lanes.finish(head) };
    };
    const node = await startNode(lanes, 'a', failing);
    for (const name of ['first', 'second', 'third']) await node.send('in:t:1', name);
    await vi.waitFor(() => expect(node.seen).toHaveLength(5), WAIT);
    expect(node.seen.map((head) => head.dedupe)).toEqual(['first', 'first', 'first', 'second', 'third']);
    expect(node.seen.map((head) => head.attempts)).toEqual([0, 1, 2, 0, 0]);
  });

  it('takes over from a node whose lease expired, and refuses its later commits', async () => {
    const { lanes, beside } = await open();
    const frozen = await lanes.register('frozen', 1_500);
    const { heads } = await lanes.append('in:t:1', 'a', {}, frozen);
    const node = await startNode(beside, 'b');
    await vi.waitFor(() => expect(node.seen).toHaveLength(1), WAIT);
    expect(node.seen[0]).toMatchObject({ dedupe: 'a', crashes: 1, attempts: 0 });
    expect(node.seen[0]!.epoch).toBeGreaterThan(heads[0]!.epoch);
    await expect(lanes.finish(heads[0]!)).rejects.toBeInstanceOf(FencedError);
    await expect(lanes.release(heads[0]!, { delayMs: 0, attempt: true })).rejects.toBeInstanceOf(FencedError);
    expect(await lanes.heartbeat(frozen, 60_000)).toBe(false);
  });

  it('gives a restarted process its lanes back immediately, whatever its lease', async () => {
    const { lanes, beside } = await open();
    const before = await lanes.register('home', 3_600_000);
    await lanes.append('in:t:1', 'a', {}, before);
    const node = await startNode(beside, 'home');
    await vi.waitFor(() => expect(node.seen).toMatchObject([{ dedupe: 'a', crashes: 1 }]), WAIT);
  });

  it('frees its lanes immediately on shutdown, and counts neither attempt nor crash', async () => {
    const { lanes, beside } = await open();
    const leaving = await startNode(lanes, 'a', (_, signal) => released(signal));
    await leaving.send('in:t:1', 'a');
    await leaving.send('in:t:1', 'b');
    await leaving.bus.stop(5_000);
    const node = await startNode(beside, 'b');
    await vi.waitFor(() => expect(node.seen).toHaveLength(2), WAIT);
    expect(node.seen[0]).toMatchObject({ dedupe: 'a', crashes: 0, attempts: 0 });
  });

  it('stops a turn within a second from a node that does not run it, and everything that was queued (N-58)', async () => {
    const { lanes, beside } = await open();
    const ended: string[] = [];
    const waiting: Behaviour = async (head, signal) => {
      if (head.dedupe === 'after') return { kind: 'finished', step: await lanes.finish(head) };
      await aborted(signal);
      ended.push(String(signal.reason.code));
      return { kind: 'finished', step: await lanes.finish(head) };
    };
    const node = await startNode(lanes, 'a', waiting);
    for (const name of ['running', 'queued-1', 'queued-2']) await node.send('in:t:1', name);
    await node.send('in:t:2', 'other');
    const asked = performance.now();
    expect(await beside.stop('t:1', { fresh: false })).toEqual({ stopped: true, cancelled: 2 });
    await vi.waitFor(() => expect(ended).toEqual(['stopped']), { interval: 5, timeout: 5_000 });
    expect(performance.now() - asked).toBeLessThan(1_000);
    await node.send('in:t:1', 'after');
    await vi.waitFor(
      () => expect(node.seen.map((head) => head.dedupe)).toEqual(['running', 'other', 'after']),
      WAIT,
    );
    await vi.waitFor(() => expect(node.bus.running().in).toBe(1), WAIT);
  });

  it('holds nothing while a turn is parked, and continues at the decision, on any node', async () => {
    const { lanes, beside } = await open();
    const parking =
      (own: LaneStore): Behaviour =>
      async (head) => {
        if (head.epoch > 1) return { kind: 'finished', step: await own.finish(head) };
        await own.park(head, { id: 'ask', turnId: 'turn', detail: { tool: 'exec' }, expiresInMs: 3_600_000 });
        return { kind: 'parked' };
      };
    const [a, b] = [
      await startNode(lanes, 'a', parking(lanes)),
      await startNode(beside, 'b', parking(beside)),
    ];
    await a.send('in:t:1', 'ask-me');
    await vi.waitFor(() => expect(a.seen).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(a.bus.running().in).toBe(0), WAIT);
    // Which messages may go ahead of a turn that waits is a matter of turns, not of lanes.
    await a.send('in:t:1', 'later');
    await a.bus.stop(1_000);
    expect(b.seen).toEqual([]);
    expect(await beside.decide('ask', 'approved', 'owner')).toBe(true);
    expect(await beside.decide('ask', 'denied', 'owner')).toBe(false);
    b.bus.sweepSoon();
    await vi.waitFor(() => expect(b.seen.map((head) => head.dedupe)).toEqual(['ask-me', 'later']), WAIT);
    expect(b.seen[0]).toMatchObject({ attempts: 0, crashes: 0 });
  });

  it('continues a parked turn when the request expires', async () => {
    const { lanes } = await open();
    const node = await startNode(lanes, 'a', async (head) => {
      if (head.epoch > 1) return { kind: 'finished', step: await lanes.finish(head) };
      await lanes.park(head, { id: 'ask', turnId: 'turn', detail: {}, expiresInMs: 50 });
      return { kind: 'parked' };
    });
    await node.send('in:t:1', 'a');
    await vi.waitFor(() => expect(node.seen).toHaveLength(2), WAIT);
    expect(await lanes.decide('ask', 'approved', 'owner')).toBe(false);
  });

  it('lists a dead letter, lets the lane continue, and replays it at the tail', async () => {
    const { lanes } = await open();
    let isRepaired = false;
    const node = await startNode(lanes, 'a', async (head) => {
      if (head.dedupe === 'poison' && !isRepaired) throw new GatewayError('bad', 'It cannot be read.');
      return { kind: 'finished', step: await lanes.finish(head) };
    });
    await node.send('in:t:1', 'poison');
    await node.send('in:t:1', 'good');
    await vi.waitFor(() => expect(node.seen).toHaveLength(2), WAIT);
    expect(node.dead).toMatchObject([{ head: { dedupe: 'poison' }, error: { code: 'bad' } }]);
    expect(await lanes.deadLetters(10)).toMatchObject([
      { lane: 'in:t:1', seq: 1, error: 'It cannot be read.' },
    ]);
    isRepaired = true;
    expect(await lanes.replayDeadLetter('in:t:1', 1)).toBe(true);
    expect(await lanes.replayDeadLetter('in:t:1', 1)).toBe(false);
    node.bus.sweepSoon();
    await vi.waitFor(() => expect(node.seen).toHaveLength(3), WAIT);
    expect(node.seen[2]).toMatchObject({ dedupe: 'poison', seq: 3, attempts: 0, crashes: 0 });
    expect(await lanes.deadLetters(10)).toEqual([]);
  });

  it('elects one leader: a connection lane moves when its owner leaves, never before', async () => {
    const { lanes, beside } = await open();
    const hold: Behaviour = (_, signal) => released(signal);
    const [a, b] = [await startNode(lanes, 'a', hold), await startNode(beside, 'b', hold)];
    for (const node of [a, b]) await node.send('poll:telegram:7', 'hold');
    await vi.waitFor(() => expect(a.seen.length + b.seen.length).toBe(1), WAIT);
    const [holder, other] = a.seen.length === 1 ? [a, b] : [b, a];
    await holder.bus.stop(1_000);
    await vi.waitFor(() => expect(other.seen).toHaveLength(1), WAIT);
    expect(holder.seen).toHaveLength(1);
  });
}

const WAIT = { timeout: 15_000, interval: 10 };

/** Ended after each test, before its database is closed. */
const started: MessageBus[] = [];

async function startNode(
  lanes: LaneStore,
  instance: string,
  behave: Behaviour = finishing(lanes),
): Promise<Node> {
  const seen: LaneHead[] = [];
  const dead: Node['dead'] = [];
  const handler: LaneHandler = {
    handle: (head, signal) => {
      seen.push(head);
      return behave(head, signal);
    },
    onDeadLetter: (head, error) => {
      dead.push({ head, error });
      return lanes.finish(head, error.message);
    },
  };
  const log = createLog({ level: 'silent', redact: (text) => text });
  const bus = createMessageBus({ lanes, instance, log, intervals: TEST_INTERVALS });
  for (const name of ['in', 'poll'] as const) bus.register({ class: name, handler, concurrency: 8 });
  await bus.start();
  started.push(bus);
  const send: Node['send'] = async (lane, dedupe, payload = {}) => {
    const step = await lanes.append(
      lane,
      dedupe,
      payload,
      bus.claimingNode(lane.startsWith('in:') ? 'in' : 'poll'),
    );
    bus.runHeads(step);
    return step.seq;
  };
  return { bus, seen, dead, send };
}

function finishing(lanes: LaneStore): Behaviour {
  return async (head) => ({ kind: 'finished', step: await lanes.finish(head) });
}

function watching(lanes: LaneStore, watch: (head: LaneHead) => Promise<void>): Behaviour {
  return async (head) => {
    await watch(head);
    return { kind: 'finished', step: await lanes.finish(head) };
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function released(signal: AbortSignal): Promise<LaneOutcome> {
  await aborted(signal);
  return { kind: 'released' };
}
