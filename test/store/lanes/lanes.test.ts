/** The lanes on both databases: appending, claiming, ending, releasing, dying, stopping. */
import { expect, it, vi } from 'vitest';
import { FencedError } from '../../../src/protocol/errors.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import { describeStore } from '../../database.ts';

const LEASE_MS = 60_000;
const NOW = { delayMs: 0, attempt: false };

function only(heads: LaneHead[]): LaneHead {
  expect(heads).toHaveLength(1);
  return heads[0]!;
}

describeStore('lanes', (databases) => {
  it('claims a free lane for the node that appends, and only then', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const first = await lanes.append('in:a:1', 'one', { n: 1 }, node);
    const head = only(first.heads);
    expect(head).toEqual({
      lane: 'in:a:1',
      node,
      epoch: 1,
      seq: 1,
      dedupe: 'one',
      payload: { n: 1 },
      attempts: 0,
      crashes: 0,
      loneCrashes: 0,
      waitedMs: 0,
      unreported: 0,
      stopped: false,
    });
    expect(await lanes.append('in:a:1', 'two', { n: 2 }, node)).toEqual({
      seq: 2,
      duplicate: false,
      heads: [],
    });
    expect(await lanes.append('in:a:2', 'one', {})).toEqual({ seq: 1, duplicate: false, heads: [] });
    const next = only((await lanes.finish(head)).heads);
    expect(next).toMatchObject({ seq: 2, epoch: 2, dedupe: 'two', payload: { n: 2 } });
    expect(await lanes.finish(next)).toEqual({ heads: [] });
  });

  it('stores a repeated message once, and concurrent repeats leave no gap', async () => {
    const { lanes, sql } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const calls = Array.from({ length: 60 }, (_, i) => lanes.append('in:a:1', `id-${i % 20}`, { i }, node));
    const results = await Promise.all(calls);
    expect(results.filter((result) => !result.duplicate)).toHaveLength(20);
    expect(results.flatMap((result) => result.heads)).toHaveLength(1);
    const seqs = await sql`select seq from lane_item where lane = 'in:a:1' order by seq`;
    expect(seqs.map((row) => row.seq)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    const [lane] = await sql`select tail from lane where key = 'in:a:1'`;
    expect(lane?.tail).toBe(20);
  });

  it('sweeps due lanes of each class up to its capacity, oldest first', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    for (const key of ['in:a:1', 'in:a:2', 'in:a:3', 'out:a:1'] as const) await lanes.append(key, 'm', {});
    const heads = await lanes.sweep(node, [
      { class: 'in', free: 2 },
      { class: 'out', free: 5 },
      { class: 'poll', free: 1 },
    ]);
    expect(heads.map((head) => head.lane).toSorted()).toEqual(['in:a:1', 'in:a:2', 'out:a:1']);
    const rest = await lanes.sweep(node, [{ class: 'in', free: 5 }]);
    expect(only(rest).lane).toBe('in:a:3');
    expect(await lanes.sweep(node, [{ class: 'in', free: 5 }])).toEqual([]);
  });

  it('refuses every fenced statement of a stale owner', async () => {
    const { lanes } = await databases.open();
    const old = await lanes.register('home', LEASE_MS);
    const head = only((await lanes.append('in:a:1', 'm', {}, old)).heads);
    const young = await lanes.register('home', LEASE_MS);
    const taken = only(await lanes.sweep(young, [{ class: 'in', free: 1 }]));
    expect(taken).toMatchObject({ node: young, epoch: 2, seq: 1, crashes: 1, attempts: 0 });
    await expect(lanes.finish(head)).rejects.toThrow(FencedError);
    await expect(lanes.release(head, NOW)).rejects.toThrow(FencedError);
    await expect(lanes.park(head, { id: 'a', turnId: 't', detail: {}, expiresInMs: 1000 })).rejects.toThrow(
      FencedError,
    );
    expect(await lanes.finish(taken)).toEqual({ heads: [] });
  });

  it('releases a head for the given time, which can be ended early; only errors count', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const capacities = [{ class: 'in' as const, free: 1 }];
    let head = only((await lanes.append('in:a:1', 'm', {}, node)).heads);
    await lanes.release(head, NOW);
    head = only(await lanes.sweep(node, capacities));
    expect(head).toMatchObject({ attempts: 0, epoch: 2 });
    await lanes.release(head, { delayMs: 0, attempt: true, error: 'model \0 away' });
    head = only(await lanes.sweep(node, capacities));
    expect(head).toMatchObject({ attempts: 1, epoch: 3 });
    await lanes.release(head, { delayMs: 3_600_000, attempt: true });
    expect(await lanes.sweep(node, capacities)).toEqual([]);
    expect((await lanes.append('in:a:1', 'later', {}, node)).heads).toEqual([]);
    await lanes.endDelay('in:a:1');
    head = only(await lanes.sweep(node, capacities));
    expect(head).toMatchObject({ seq: 1, attempts: 2, epoch: 4 });
    await lanes.endDelay('in:a:1');
    expect(await lanes.finish(head)).toMatchObject({ heads: [{ seq: 2, attempts: 0 }] });
  });

  it('adds up the pauses after failures, starting over when a dead letter is requeued', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const capacities = [{ class: 'out' as const, free: 1 }];
    const claim = async () => only(await lanes.sweep(node, capacities));
    let head = only((await lanes.append('out:a:1', 'm', {}, node)).heads);
    for (const error of ['away', undefined, 'away']) {
      await lanes.release(head, { delayMs: 30, attempt: false, ...(error !== undefined && { error }) });
      await vi.waitFor(async () => void (head = await claim()));
    }
    expect(head).toMatchObject({ attempts: 0, waitedMs: 60 });
    await lanes.finish(head, 'given up');
    await lanes.replayDeadLetter('out:a:1', 1);
    expect(await claim()).toMatchObject({ waitedMs: 0 });
  });

  it('counts the dead letters that were not reported to a chat until a delivery reaches it', async () => {
    const { lanes, ledger } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    let head = only((await lanes.append('out:a:1', 'one', {}, node)).heads);
    for (const dedupe of ['two', 'three', 'four', 'five']) await lanes.append('out:a:1', dedupe, {});
    head = only((await lanes.finish(head, 'given up', true)).heads);
    expect(head).toMatchObject({ dedupe: 'two', unreported: 1 });
    head = only((await lanes.finish(head, 'given up', true)).heads);
    head = only((await lanes.finish(head, 'the chat has read an apology')).heads);
    expect(head).toMatchObject({ dedupe: 'four', unreported: 2 });
    head = only((await ledger.finishDelivery(head, 'four', [])).heads);
    expect(head).toMatchObject({ dedupe: 'five', unreported: 0 });
  });

  it('recognizes an expired lease, and lets no dead node claim', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    expect(await lanes.heartbeat(node, LEASE_MS)).toBe(true);
    expect(await lanes.heartbeat(node, 0)).toBe(true);
    expect(await lanes.heartbeat(node, LEASE_MS)).toBe(false);
    expect((await lanes.append('in:a:1', 'm', {}, node)).heads).toEqual([]);
    expect(await lanes.sweep(node, [{ class: 'in', free: 1 }])).toEqual([]);
  });

  it('frees a leaving node without counting a crash', async () => {
    const { lanes } = await databases.open();
    const leaving = await lanes.register('one', LEASE_MS);
    await lanes.append('in:a:1', 'm', {}, leaving);
    const other = await lanes.register('two', LEASE_MS);
    expect(await lanes.sweep(other, [{ class: 'in', free: 1 }])).toEqual([]);
    await lanes.unregister(leaving);
    expect(only(await lanes.sweep(other, [{ class: 'in', free: 1 }]))).toMatchObject({
      crashes: 0,
      node: other,
    });
  });

  it('lists dead letters, replays them at the tail, purges old messages', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const head = only((await lanes.append('out:a:1', 'bad', { x: 1 }, node)).heads);
    await lanes.append('out:a:1', 'good', {}, node);
    const next = only((await lanes.finish(head, 'chat is gone')).heads);
    const [letter] = await lanes.deadLetters(10);
    expect(letter).toMatchObject({ lane: 'out:a:1', seq: 1, error: 'chat is gone' });
    expect(letter?.deadAt).toBeInstanceOf(Date);
    const replays = await Promise.all([
      lanes.replayDeadLetter('out:a:1', 1),
      lanes.replayDeadLetter('out:a:1', 1),
    ]);
    expect(replays.filter(Boolean)).toHaveLength(1);
    expect(await lanes.deadLetters(10)).toEqual([]);
    const again = only((await lanes.finish(next)).heads);
    expect(again).toMatchObject({ seq: 3, dedupe: 'bad', payload: { x: 1 }, attempts: 0 });
    await lanes.finish(again);
    expect(await lanes.purge(3_600_000, 100)).toBe(0);
    expect(await lanes.purge(0, 1)).toBe(1);
    expect(await lanes.purge(0, 100)).toBe(1);
  });

  it('marks running lanes that were stopped', async () => {
    const { lanes } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const head = only((await lanes.append('in:a:1', 'run', {}, node)).heads);
    await lanes.append('in:a:1', 'wait', {});
    expect(await lanes.flags(node)).toEqual([]);
    expect(await lanes.stop('a:1', { fresh: false })).toEqual({ stopped: true, cancelled: 1 });
    expect(await lanes.flags(node)).toMatchObject([{ lane: 'in:a:1', stopSeq: 2 }]);
    await lanes.append('in:a:1', 'after', {});
    const next = only((await lanes.finish(head)).heads);
    expect(next).toMatchObject({ seq: 3, dedupe: 'after', stopped: false });
  });
});
