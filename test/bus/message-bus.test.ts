/** The message bus over in-memory lanes: order, capacity, retries and dead letters, under fake time. */
import type { OpenedTurn } from '../../src/protocol/store/records.ts';
import { describe, expect, it, vi } from 'vitest';
import { MAX_ATTEMPTS, MAX_LONE_CRASHES, RETRY_CAP_MS, STORE_PAUSES_MS } from '../../src/bus/attempt.ts';
import { MAX_WAITING_HEADS } from '../../src/bus/lane-workers.ts';
import { SWEEP_MS } from '../../src/bus/message-bus.ts';
import { FencedError, StoreError } from '../../src/protocol/errors.ts';
import type { LaneKey } from '../../src/protocol/store/lanes.ts';
import { flaky, pass, said, useDrivenBuses } from './driven-bus.ts';

const LANE: LaneKey = 'in:telegram:1';
const start = useDrivenBuses();
/** The failure of a statement while the database is unreachable. */
const away = (): StoreError => new StoreError('unavailable', 'away', { retryable: true });

describe('a lane', () => {
  it('runs its messages one at a time and in order, in parallel with other lanes', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    await driven.send(LANE, 'b');
    await driven.send('in:telegram:2', 'c');
    expect(said(driven)).toEqual(['a', 'c']);
    await driven.finish(driven.runs[0]);
    await pass(0);
    expect(said(driven)).toEqual(['a', 'c', 'b']);
  });

  it('starts with the next sweep, or soon after sweepSoon, when it has no owner', async () => {
    const driven = await start();
    await pass(0);
    await driven.lanes.append(LANE, 'a', {});
    await pass(SWEEP_MS);
    expect(said(driven)).toEqual(['a']);
    await driven.lanes.append('in:telegram:2', 'b', {});
    driven.bus.sweepSoon();
    await pass(20);
    expect(said(driven)).toEqual(['a', 'b']);
  });

  it('runs again after its last worker when claimed while that worker is still ending', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    const [first] = driven.runs;
    // The handler released the head in a separate commit, and the lane was due immediately.
    await driven.lanes.release(first!.head, { delayMs: 0, attempt: false });
    await pass(SWEEP_MS);
    expect(driven.runs).toHaveLength(1);
    first!.end({ kind: 'parked' });
    await pass(0);
    expect(driven.runs).toHaveLength(2);
    expect(driven.runs[1]!.head.epoch).toBe(first!.head.epoch + 1);
  });
});

describe('capacity', () => {
  it('is counted per class: full turns do not delay deliveries', async () => {
    const driven = await start({ concurrency: 1 });
    await driven.send(LANE, 'a');
    await driven.send('in:telegram:2', 'b');
    await driven.send('out:telegram:1', 'c');
    expect(said(driven)).toEqual(['a', 'c']);
    expect(driven.bus.running()).toEqual({ in: 1, out: 1, agent: 0, poll: 0, speech: 0, hook: 0, push: 0 });
    expect(driven.bus.claimingNode('in')).toBeUndefined();
    expect(driven.bus.claimingNode('poll')).toBeDefined();
  });

  it('is used as soon as it is free, by the head that has waited longest', async () => {
    const driven = await start({ concurrency: 1 });
    await driven.send(LANE, 'a1');
    await driven.send(LANE, 'a2');
    await pass(10);
    await driven.send('in:telegram:2', 'b1');
    await driven.finish(driven.runs[0]);
    await pass(20);
    expect(said(driven)).toEqual(['a1', 'b1']);
    await driven.finish(driven.runs[1]);
    await pass(20);
    expect(said(driven)).toEqual(['a1', 'b1', 'a2']);
  });

  it('goes to waiting claimed heads in order', async () => {
    const driven = await start({ concurrency: 1 });
    const node = driven.bus.claimingNode('in');
    const steps = await Promise.all(
      ['a', 'b', 'c'].map((name) => driven.lanes.append(`in:t:${name}`, name, {}, node)),
    );
    for (const step of steps) driven.bus.runHeads(step);
    for (const index of [0, 1]) {
      await driven.finish(driven.runs[index]);
      await pass(0);
    }
    expect(said(driven)).toEqual(['a', 'b', 'c']);
  });

  it('makes a head that had to wait discard what was read for an immediate start', async () => {
    const driven = await start({ concurrency: 1 });
    const node = driven.bus.claimingNode('in');
    const opened = { afterMs: 0 } as OpenedTurn;
    for (const name of ['a', 'b']) {
      const { heads } = await driven.lanes.append(`in:t:${name}`, name, {}, node);
      driven.bus.runHeads({ heads: heads.map((head) => ({ ...head, opened })) });
    }
    await driven.finish(driven.runs[0]);
    await pass(0);
    expect(driven.runs.map(({ head }) => head.opened)).toEqual([opened, undefined]);
  });

  it(`can be awaited by ${MAX_WAITING_HEADS} heads of a class; one more is released and returns with a sweep`, async () => {
    const driven = await start({ concurrency: 1 });
    const node = driven.bus.claimingNode('in');
    for (let index = 0; index <= MAX_WAITING_HEADS + 1; index += 1) {
      driven.bus.runHeads(await driven.lanes.append(`in:t:${index}`, `${index}`, {}, node));
    }
    await pass(0);
    expect(driven.lanes.calls.release).toBe(1);
    expect(driven.lanes.lane(`in:t:${MAX_WAITING_HEADS}`).owner).toBe(node);
    expect(driven.lanes.lane(`in:t:${MAX_WAITING_HEADS + 1}`).owner).toBeUndefined();
  });

  it('is not used by classes this node has no budget for', async () => {
    const driven = await start({ classes: ['in'] });
    const step = await driven.lanes.append('out:telegram:1', 'a', {}, driven.bus.claimingNode('in'));
    driven.bus.runHeads(step);
    await pass(0);
    expect(driven.bus.claimingNode('out')).toBeUndefined();
    expect(driven.lanes.lane('out:telegram:1').owner).toBeUndefined();
  });
});

describe('a failing head', () => {
  it('is retried after a growing pause, or after the pause requested by the other side', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.runs[0]!.fail(flaky());
    await pass(1_000 + SWEEP_MS);
    expect(driven.runs[1]!.head.attempts).toBe(1);
    driven.runs[1]!.fail(flaky({ retryAfterMs: 90_000 }));
    await pass(89_999);
    expect(driven.runs).toHaveLength(2);
    await pass(SWEEP_MS + 1);
    driven.runs[2]!.end({ kind: 'retry', error: flaky(), delayMs: 5_000 });
    await pass(4_999);
    expect(driven.runs).toHaveLength(3);
    await pass(SWEEP_MS + 1);
    expect(driven.runs[3]!.head.attempts).toBe(3);
  });

  it('returns after its pause, without an attempt, when it waits for another side', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    for (let run = 0; run < MAX_ATTEMPTS + 1; run += 1) {
      driven.runs[run]!.end({ kind: 'waiting', error: flaky(), delayMs: 5_000 });
      await pass(4_999);
      expect(driven.runs).toHaveLength(run + 1);
      await pass(SWEEP_MS + 1);
    }
    expect(driven.runs.at(-1)!.head).toMatchObject({ attempts: 0, waitedMs: 5_000 * (MAX_ATTEMPTS + 1) });
    expect(driven.deadLetters).toEqual([]);
  });

  it('does not use up attempts while the database is down, until the pauses add up to their limit', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    while (driven.runs.at(-1)!.head.waitedMs < STORE_PAUSES_MS) {
      expect(driven.runs.at(-1)!.head.attempts).toBe(0);
      driven.runs.at(-1)!.fail(away());
      await pass(RETRY_CAP_MS);
    }
    expect(driven.runs.length).toBeGreaterThan(10 * MAX_ATTEMPTS);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      expect(driven.deadLetters).toEqual([]);
      driven.runs.at(-1)!.fail(away());
      await pass(RETRY_CAP_MS + SWEEP_MS);
    }
    expect(driven.deadLetters).toMatchObject([{ head: { dedupe: 'a' }, error: { code: 'unavailable' } }]);
  });

  it(`becomes a dead letter at failure ${MAX_ATTEMPTS}, and the lane continues`, async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    await driven.send(LANE, 'b');
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      expect(driven.deadLetters).toEqual([]);
      driven.runs[attempt - 1]!.fail(flaky());
      await pass(RETRY_CAP_MS + SWEEP_MS);
    }
    expect(driven.deadLetters).toMatchObject([{ head: { dedupe: 'a' }, error: { code: 'flaky' } }]);
    expect(said(driven)).toEqual(['a', 'a', 'a', 'a', 'a', 'b']);
  });

  it('becomes a dead letter immediately when no retry can help, foreign errors included', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.runs[0]!.fail(new TypeError('a bug'));
    await pass(0);
    expect(driven.deadLetters).toMatchObject([{ error: { code: 'internal', message: 'a bug' } }]);
  });

  it(`is not run again after ${MAX_LONE_CRASHES} crashes in which it was the only suspect`, async () => {
    const driven = await start();
    await driven.lanes.append(LANE, 'a', {});
    driven.lanes.lane(LANE).messages[0]!.loneCrashes = MAX_LONE_CRASHES - 1;
    await pass(SWEEP_MS);
    expect(driven.runs).toHaveLength(1);
    await driven.lanes.release(driven.runs[0]!.head, { delayMs: 0, attempt: false });
    driven.runs[0]!.end({ kind: 'parked' });
    driven.lanes.lane(LANE).messages[0]!.loneCrashes = MAX_LONE_CRASHES;
    await pass(SWEEP_MS);
    expect(driven.deadLetters).toMatchObject([{ error: { code: 'crashed' } }]);
    expect(driven.runs).toHaveLength(1);
  });

  it('is kept when even onDeadLetter fails', async () => {
    const driven = await start();
    driven.deadFails.push(new Error('the notice could not be queued'));
    await driven.send(LANE, 'a');
    driven.runs[0]!.fail(new Error('a bug'));
    await pass(RETRY_CAP_MS);
    expect(driven.runs).toHaveLength(2);
    driven.runs[1]!.fail(new Error('a bug'));
    await pass(0);
    expect(driven.deadLetters).toHaveLength(1);
  });

  it('of class poll never becomes a dead letter, whatever it throws', async () => {
    const driven = await start();
    await driven.send('poll:telegram:7', 'hold');
    for (let index = 0; index < 3 * MAX_LONE_CRASHES; index += 1) {
      driven.runs.at(-1)!.fail([flaky(), new Error('a bug'), away()][index % 3]!);
      driven.lanes.lane('poll:telegram:7').messages[0]!.loneCrashes += 1;
      await pass(1_000 + SWEEP_MS);
    }
    expect(driven.deadLetters).toEqual([]);
    expect(driven.runs).toHaveLength(3 * MAX_LONE_CRASHES + 1);
  });

  it('is dropped without a write to the database when the lane has moved on', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.runs[0]!.fail(new FencedError(LANE));
    await pass(0);
    expect(driven.lanes.calls.release).toBeUndefined();
    expect(driven.deadLetters).toEqual([]);
    expect(driven.bus.running().in).toBe(0);
  });

  it('is released as soon as the database is reachable again', async () => {
    const driven = await start();
    await driven.send(LANE, 'a');
    driven.lanes.away.add('release');
    driven.runs[0]!.fail(flaky());
    await vi.waitFor(() => expect(driven.lanes.calls.release).toBeGreaterThan(1));
    expect(driven.lanes.lane(LANE).owner).toBeDefined();
    driven.lanes.away.clear();
    await vi.waitFor(() => expect(driven.lanes.lane(LANE).owner).toBeUndefined());
    await pass(1_000 + SWEEP_MS);
    expect(driven.runs).toHaveLength(2);
  });
});
