/** The fair queue keeps its limit, serves keys in turn, and forgets callers that gave up. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFairQueue } from '../../../src/lib/async/fair-queue.ts';

const never = new AbortController().signal;

describe('a fair queue', () => {
  it('admits up to its limit, and returns undefined when too many wait', async () => {
    const queue = createFairQueue(1, 1);
    const leave = await queue.enter('a', never);
    const waiting = queue.enter('a', never);
    expect(await queue.enter('b', never)).toBeUndefined();
    leave?.();
    expect(await waiting).toBeTypeOf('function');
  });

  it('frees one slot however often it is released', async () => {
    const queue = createFairQueue(1, 10);
    const leave = await queue.enter('a', never);
    const [second, third] = [queue.enter('a', never), queue.enter('a', never)];
    leave?.();
    leave?.();
    await second;
    expect([queue.running, queue.waiting]).toEqual([1, 1]);
    (await second)?.();
    expect(await third).toBeTypeOf('function');
  });

  it('rejects with the reason of the signal, before and during the wait, and leaves nothing behind', async () => {
    const queue = createFairQueue(1, 10);
    const leave = await queue.enter('a', never);
    const stop = new AbortController();
    const waiting = queue.enter('b', stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(queue.enter('b', stop.signal)).rejects.toThrow('enough');
    leave?.();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  it('reserves no slot for a caller that gives up as soon as it has to wait', async () => {
    const queue = createFairQueue(1, 10);
    const leave = await queue.enter('a', never);
    const stop = new AbortController();
    const waiting = queue.enter('b', stop.signal, () => stop.abort(new Error('not that long')));
    await expect(waiting).rejects.toThrow('not that long');
    leave?.();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  it('never exceeds its limit, serves each key in order, and never makes a key wait twice as long as others', async () => {
    const keys = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(keys, async (asked) => {
        const queue = createFairQueue(1, 100);
        const leaveFirst = await queue.enter('first', never);
        const served: { key: string; index: number }[] = [];
        const all = asked.map(async (key, index) => {
          const leave = await queue.enter(key, never);
          expect(queue.running).toBe(1);
          served.push({ key, index });
          leave?.();
        });
        leaveFirst?.();
        await Promise.all(all);
        expect(served).toHaveLength(asked.length);
        for (const key of ['a', 'b', 'c']) {
          const mine = served.filter((entry) => entry.key === key).map((entry) => entry.index);
          expect(mine).toEqual(mine.toSorted((x, y) => x - y));
          // While a key waits, no other key is served twice before it.
          const turns = served.map((entry) => entry.key);
          const before = turns.slice(0, Math.max(0, turns.indexOf(key)));
          expect(new Set(before).size).toBe(before.length);
        }
      }),
      { numRuns: 200 },
    );
  });
});
