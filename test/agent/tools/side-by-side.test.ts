/** Streams that run at the same time: nothing lost, never more than the width, and one that fails ends them all. */
import { describe, expect, it } from 'vitest';
import { sideBySide } from '../../../src/agent/tools/side-by-side.ts';

async function collect<T>(stream: AsyncGenerator<T, void>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of stream) all.push(value);
  return all;
}

describe('streams side by side', () => {
  it('give all their values, each in its own order', async () => {
    const count = (name: string, to: number) =>
      async function* (): AsyncGenerator<string, void> {
        for (let n = 0; n < to; n += 1) {
          await new Promise((resolve) => setImmediate(resolve));
          yield `${name}${n}`;
        }
      };
    const all = await collect(sideBySide([count('a', 3), count('b', 5), count('c', 0)], 2, () => undefined));
    expect(all.filter((value) => value.startsWith('a'))).toEqual(['a0', 'a1', 'a2']);
    expect(all.filter((value) => value.startsWith('b'))).toEqual(['b0', 'b1', 'b2', 'b3', 'b4']);
    expect(all).toHaveLength(8);
  });

  it('are never more than the width', async () => {
    let open = 0;
    let most = 0;
    const one = async function* (): AsyncGenerator<number, void> {
      most = Math.max(most, (open += 1));
      await new Promise((resolve) => setImmediate(resolve));
      yield open;
      open -= 1;
    };
    await collect(
      sideBySide(
        Array.from({ length: 9 }, () => one),
        3,
        () => undefined,
      ),
    );
    expect(most).toBe(3);
  });

  it('end together when one fails: the others are asked to leave and waited for, no further one begins', async () => {
    const left = Promise.withResolvers<void>();
    const order: string[] = [];
    const patient = async function* (): AsyncGenerator<string, void> {
      yield 'begun';
      await left.promise;
      order.push('left');
    };
    const broken = async function* (): AsyncGenerator<string, void> {
      yield 'soon';
      throw new Error('broken');
    };
    const never = async function* (): AsyncGenerator<string, void> {
      order.push('began');
      yield 'never';
    };
    const all = collect(sideBySide([patient, broken, never], 2, () => left.resolve()));
    await expect(all).rejects.toThrow('broken');
    expect(order).toEqual(['left']);
  });
});
