/** Calls that run concurrently: nothing lost, never more than the limit, and what a failure ends. */
import { describe, expect, it } from 'vitest';
import { forEachConcurrently, runConcurrently } from '../../../src/lib/async/run-concurrently.ts';

const ignore = (): void => undefined;
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

describe('concurrent calls', () => {
  it('all run to completion', async () => {
    const all: string[] = [];
    const count = (name: string, to: number) => async (): Promise<void> => {
      for (let n = 0; n < to; n += 1) {
        await nextTick();
        all.push(`${name}${n}`);
      }
    };
    await runConcurrently([count('a', 3), count('b', 5), count('c', 0)], 2, ignore);
    expect(all.filter((value) => value.startsWith('a'))).toEqual(['a0', 'a1', 'a2']);
    expect(all.filter((value) => value.startsWith('b'))).toEqual(['b0', 'b1', 'b2', 'b3', 'b4']);
    expect(all).toHaveLength(8);
  });

  it('never exceed the limit', async () => {
    let open = 0;
    let most = 0;
    const one = async (): Promise<void> => {
      most = Math.max(most, (open += 1));
      await nextTick();
      open -= 1;
    };
    const nine = Array.from({ length: 9 }, () => one);
    await runConcurrently(nine, 3, ignore);
    expect(most).toBe(3);
  });

  it('end together when one fails: the others are aborted and awaited, and no more start', async () => {
    const left = Promise.withResolvers<void>();
    const order: string[] = [];
    const patient = async (): Promise<void> => {
      await left.promise;
      order.push('left');
    };
    const broken = async (): Promise<void> => {
      await nextTick();
      throw new Error('broken');
    };
    const never = async (): Promise<void> => void order.push('began');
    const all = runConcurrently([patient, broken, never], 2, () => left.resolve());
    await expect(all).rejects.toThrow('broken');
    expect(order).toEqual(['left']);
  });
});

describe('a call for each of many items', () => {
  it('is made once, and never for more items concurrently than the limit', async () => {
    const items = new Map(Array.from({ length: 9 }, (_, at) => [at, `item ${at}`]));
    const seen: string[] = [];
    let open = 0;
    let most = 0;
    await forEachConcurrently(items.values(), 3, async (item) => {
      most = Math.max(most, (open += 1));
      await nextTick();
      seen.push(item);
      open -= 1;
    });
    expect(seen.toSorted()).toEqual([...items.values()]);
    expect(most).toBe(3);
  });

  it('that fails leaves the others to the rest of the limit; the first error is thrown once all have ended', async () => {
    const seen: number[] = [];
    const all = forEachConcurrently([0, 1, 2, 3, 4], 2, async (item) => {
      await nextTick();
      if (item === 0) throw new Error('broken');
      seen.push(item);
    });
    await expect(all).rejects.toThrow('broken');
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it('starts no further item once as many have failed as run concurrently', async () => {
    const begun: number[] = [];
    const all = forEachConcurrently([0, 1, 2, 3, 4], 2, async (item) => {
      begun.push(item);
      await nextTick();
      throw new Error(`broken ${item}`);
    });
    await expect(all).rejects.toThrow('broken 0');
    expect(begun).toEqual([0, 1]);
  });
});
