/** How running work ends early: stop marks, a lost lease, a shutdown; over in-memory lanes, under fake time. */
import { describe, expect, it } from 'vitest';
import { RETRY_CAP_MS } from '../../src/bus/attempt.ts';
import { FLAGS_MS, HEARTBEAT_MS, LEASE_MS, SWEEP_MS } from '../../src/bus/message-bus.ts';
import { UNREGISTER_MS } from '../../src/bus/node-lease.ts';
import { FencedError } from '../../src/protocol/errors.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { LaneKey } from '../../src/protocol/store/lanes.ts';
import { drivenBus, flaky, pass, said, useDrivenBuses } from './driven-bus.ts';

const LANE: LaneKey = 'in:telegram:1';
const start = useDrivenBuses();

describe('a stop', () => {
  it('ends the running turn at the next read of the marks', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.lanes.markStop(LANE);
    await pass(FLAGS_MS);
    expect(driven.runs[0]!.signal.reason).toMatchObject({ code: 'stopped' });
  });

  it('ends it immediately with a hint, local or from another node, and notifies the others', async () => {
    const told: LaneKey[] = [];
    let hint: (lane: LaneKey) => void = () => undefined;
    const stopNotifier = {
      notify: (lane: LaneKey) => void told.push(lane),
      listen: (listener: (lane: LaneKey) => void) => {
        hint = listener;
        return () => undefined;
      },
    };
    const driven = await start({ stopNotifier });
    await driven.send(LANE, 'a');
    await driven.send('in:telegram:2', 'b');
    await pass(0);
    driven.lanes.markStop(LANE);
    driven.bus.notifyStop(LANE);
    await pass(20);
    expect(driven.runs[0]!.signal.aborted).toBe(true);
    expect(told).toEqual([LANE]);
    driven.lanes.markStop('in:telegram:2');
    hint('in:telegram:2');
    await pass(20);
    expect(driven.runs[1]!.signal.reason).toMatchObject({ code: 'stopped' });
    expect(told).toHaveLength(1);
  });

  it('does not affect later messages', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    await driven.send(LANE, 'b');
    const gate = Promise.withResolvers<void>();
    driven.lanes.slowFlags = gate.promise;
    driven.lanes.lane(LANE).stopSeq = 1;
    await pass(FLAGS_MS);
    await driven.finish(driven.runs[0]);
    await pass(0);
    gate.resolve();
    await pass(2 * FLAGS_MS);
    expect(driven.runs[1]).toMatchObject({ head: { dedupe: 'b' }, signal: { aborted: false } });
  });

  it('reaches heads that wait for capacity or were stopped before they were claimed', async () => {
    const driven = await start({ concurrency: 1 });
    const node = driven.bus.claimingNode('in');
    driven.bus.runHeads(await driven.lanes.append('in:t:first', 'a', {}, node));
    driven.bus.runHeads(await driven.lanes.append('in:t:waits', 'b', {}, node));
    driven.lanes.markStop('in:t:waits');
    await pass(FLAGS_MS);
    await driven.lanes.append('in:t:late', 'c', {});
    driven.lanes.markStop('in:t:late');
    await driven.finish(driven.runs[0]);
    await pass(SWEEP_MS);
    expect(driven.runs[1]).toMatchObject({ head: { dedupe: 'b', stopped: true }, signal: { aborted: true } });
    await driven.finish(driven.runs[1]);
    await pass(SWEEP_MS);
    expect(driven.runs[2]!.signal.reason).toMatchObject({ code: 'stopped' });
  });

  it('gives the head back to a handler that failed instead of ending it', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.lanes.markStop(LANE);
    await pass(FLAGS_MS);
    driven.runs[0]!.fail(new Error('broke while stopping'));
    await pass(RETRY_CAP_MS);
    expect(driven.deadLetters).toEqual([]);
    expect(driven.runs[1]).toMatchObject({ head: { stopped: true }, signal: { aborted: true } });
  });
});

describe('a lost lease', () => {
  it('ends all work, and the lanes are taken back under a new id', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.lanes.expire(driven.runs[0]!.head.node);
    await pass(HEARTBEAT_MS);
    expect(driven.runs[0]!.signal.reason).toMatchObject({ code: 'lease_lost' });
    driven.runs[0]!.fail(new FencedError(LANE));
    await pass(HEARTBEAT_MS + SWEEP_MS);
    expect(said(driven)).toEqual(['a', 'a']);
    expect(driven.runs[1]!.head.node).not.toBe(driven.runs[0]!.head.node);
    expect(driven.runs[1]!.head.crashes).toBe(1);
  });

  it('is noticed without the database when no heartbeat got through in time', async () => {
    const driven = await start();
    await pass(HEARTBEAT_MS);
    await driven.send(LANE, 'a');
    const gate = Promise.withResolvers<void>();
    driven.lanes.hanging.set('heartbeat', gate.promise);
    await pass(LEASE_MS - HEARTBEAT_MS);
    expect(driven.runs[0]!.signal.aborted).toBe(false);
    await pass(HEARTBEAT_MS + 1);
    expect(driven.runs[0]!.signal.reason).toMatchObject({ code: 'lease_lost' });
    expect(driven.bus.claimingNode('in')).toBeUndefined();
    gate.resolve();
    await pass(HEARTBEAT_MS);
    expect(driven.bus.claimingNode('in')).toBeDefined();
  });

  it.each(['fail', 'hang'] as const)(
    'does not count against running heads when its heartbeats %s: the database was unreachable',
    async (how) => {
      const driven = await start();
      await driven.send(LANE, 'a');
      const gate = Promise.withResolvers<void>();
      if (how === 'hang') driven.lanes.hanging.set('heartbeat', gate.promise);
      else driven.lanes.away.add('heartbeat').add('register').add('sweep').add('flags');
      await pass(LEASE_MS + HEARTBEAT_MS);
      driven.runs[0]!.fail(new FencedError(LANE));
      await pass(2 * LEASE_MS);
      gate.resolve();
      driven.lanes.away.clear();
      await pass(HEARTBEAT_MS + SWEEP_MS);
      expect(said(driven)).toEqual(['a', 'a']);
      expect(driven.runs[1]!.head.crashes).toBe(0);
      // The next loss has a different cause.
      driven.lanes.expire(driven.runs[1]!.head.node);
      await pass(HEARTBEAT_MS);
      driven.runs[1]!.fail(new FencedError(LANE));
      await pass(HEARTBEAT_MS + SWEEP_MS);
      expect(driven.runs[2]!.head.crashes).toBe(1);
    },
  );

  it('counts against running heads when the process stalled and sent no heartbeat in time', async () => {
    let stoodStillMs = 0;
    const clock = { ...systemClock, monotonicMs: () => performance.now() + stoodStillMs };
    const driven = await start({ clock });
    await driven.send(LANE, 'a');
    const gate = Promise.withResolvers<void>();
    driven.lanes.hanging.set('heartbeat', gate.promise);
    stoodStillMs = LEASE_MS;
    await pass(LEASE_MS);
    driven.runs[0]!.fail(new FencedError(LANE));
    gate.resolve();
    await pass(HEARTBEAT_MS + SWEEP_MS);
    expect(driven.runs[1]!.head.crashes).toBe(1);
  });

  it('is not assumed while the database restarts for less than the lease', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.lanes.away.add('heartbeat').add('sweep').add('flags');
    await pass(LEASE_MS - HEARTBEAT_MS - 1_000);
    driven.lanes.away.clear();
    await pass(10 * LEASE_MS);
    expect(driven.runs[0]!.signal.aborted).toBe(false);
    expect(driven.lanes.calls.register).toBe(1);
  });

  it('starts the lane again after the stale handler has ended, if this node regains it in the meantime', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.lanes.expire(driven.runs[0]!.head.node);
    await pass(2 * HEARTBEAT_MS + SWEEP_MS);
    expect(driven.lanes.lane(LANE).owner).toBe(driven.bus.claimingNode('in'));
    expect(driven.runs).toHaveLength(1);
    driven.runs[0]!.fail(flaky());
    await pass(0);
    expect(driven.runs).toHaveLength(2);
    expect(driven.runs[1]!.signal.aborted).toBe(false);
    await driven.finish(driven.runs[1]);
    await pass(0);
    expect(driven.lanes.lane(LANE)).toMatchObject({ head: 1, owner: undefined });
  });

  it('ignores claims under the old id that arrive late', async () => {
    const driven = await start();
    const step = await driven.lanes.append(LANE, 'a', {}, driven.bus.claimingNode('in'));
    driven.lanes.expire(step.heads[0]!.node);
    await pass(HEARTBEAT_MS);
    driven.bus.runHeads(step);
    expect(driven.runs).toEqual([]);
    await pass(HEARTBEAT_MS + SWEEP_MS);
    expect(driven.runs.map(({ head }) => head.node)).toEqual([driven.bus.claimingNode('in')]);
  });

  it('drops heads that waited for capacity under the old id', async () => {
    const driven = await start({ concurrency: 1 });
    const node = driven.bus.claimingNode('in');
    driven.bus.runHeads(await driven.lanes.append(LANE, 'a', {}, node));
    driven.bus.runHeads(await driven.lanes.append('in:telegram:2', 'b', {}, node));
    driven.lanes.expire(node);
    await pass(2 * HEARTBEAT_MS);
    driven.runs[0]!.fail(flaky());
    await pass(SWEEP_MS);
    const nodes = driven.runs.slice(1).map(({ head }) => head.node);
    expect(nodes).toEqual([driven.bus.claimingNode('poll')]);
  });
});

describe('a shutdown', () => {
  it('asks running heads to end, admits no new ones, and frees the lanes', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    await driven.send(LANE, 'b');
    const stopped = driven.bus.stop(20_000);
    expect(driven.runs[0]!.signal.reason).toMatchObject({ code: 'shutdown' });
    expect(driven.bus.claimingNode('in')).toBeUndefined();
    await driven.finish(driven.runs[0]);
    await stopped;
    expect(said(driven)).toEqual(['a']);
    expect(driven.lanes.lane(LANE)).toMatchObject({ head: 1, owner: undefined });
  });

  it('releases a head immediately and does not count an attempt for a failed one', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    await driven.send('in:telegram:2', 'b');
    await driven.send('in:telegram:3', 'c');
    const stopped = driven.bus.stop(20_000);
    driven.runs[0]!.end({ kind: 'released' });
    driven.runs[1]!.fail(new Error('cut off'));
    driven.runs[2]!.end({ kind: 'retry', error: flaky(), delayMs: 60_000 });
    await stopped;
    for (const { head } of driven.runs) {
      const { messages, wakeAt, owner } = driven.lanes.lane(head.lane);
      expect({ attempts: messages[0]!.attempts, owner }).toEqual({ attempts: 0, owner: undefined });
      expect(wakeAt).toBeLessThanOrEqual(performance.now());
    }
    expect(driven.deadLetters).toEqual([]);
  });

  it('waits at most drainMs for a handler that does not end, and can be called twice', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    const first = driven.bus.stop(30);
    const second = driven.bus.stop(60_000);
    await Promise.all([first, second]);
    expect(driven.lanes.calls.unregister).toBe(1);
    expect(driven.lanes.lane(LANE).owner).toBeUndefined();
  });

  it('also ends while the database is unreachable', async () => {
    const driven = await start();
    driven.lanes.hanging.set('unregister', new Promise(() => undefined));
    await driven.bus.stop(0);
    const away = await start();
    away.lanes.away.add('unregister');
    await away.bus.stop(0);
    expect(away.lines.join('')).toContain('node_unregister_failed');
    expect(UNREGISTER_MS).toBeLessThan(5_000);
  });

  it('during a new registration leaves no lease behind', async () => {
    const driven = await start();
    const gate = Promise.withResolvers<void>();
    driven.lanes.hanging.set('register', gate.promise);
    driven.lanes.expire(driven.bus.claimingNode('in'));
    await pass(2 * HEARTBEAT_MS);
    await driven.bus.stop(0);
    expect(driven.lanes.calls).toMatchObject({ register: 2 });
    expect(driven.lanes.calls.unregister).toBeUndefined();
    gate.resolve();
    await pass(0);
    expect(driven.lanes.calls.unregister).toBe(1);
  });

  it('before start() is a no-op', async () => {
    const { bus, lanes } = drivenBus();
    await bus.stop(0);
    expect(lanes.calls).toEqual({});
  });
});
