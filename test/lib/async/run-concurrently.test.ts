/** Calls that run concurrently: nothing lost, never more than the limit, and one failure ends them all. */
import { describe, expect, it } from 'vitest';
import { runConcurrently } from '../../../src/lib/async/run-concurrently.ts';

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
