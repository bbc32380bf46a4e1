/** Tasks of one key in order, those of others concurrently, and no wait that outlives its signal. */
import { expect, it } from 'vitest';
import { KeyedLock } from '../../../src/lib/async/keyed-lock.ts';

const never = new AbortController().signal;

it('runs tasks of one key one after another, even after one failed, and leaves nothing behind', async () => {
  const lock = new KeyedLock();
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const task = (name: string, until?: Promise<void>) => async () => {
    order.push(`${name} begins`);
    await until;
    order.push(`${name} ends`);
  };
  const a = lock.run('x', never, task('a', first.promise));
  const broken = lock.run('x', never, () => Promise.reject(new Error('b broke')));
  const c = lock.run('x', never, task('c'));
  await lock.run('y', never, task('other'));
  expect(order).toEqual(['a begins', 'other begins', 'other ends']);
  first.resolve();
  await expect(broken).rejects.toThrow('b broke');
  await Promise.all([a, c]);
  expect(order.slice(3)).toEqual(['a ends', 'c begins', 'c ends']);
  expect(lock.size).toBe(0);
});

it('gives up a wait with its signal; tasks behind it still wait for those before', async () => {
  const lock = new KeyedLock();
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  let ran = '';
  const a = lock.run('x', never, () => first.promise);
  const b = lock.run('x', stop.signal, async () => void (ran += 'b'));
  const c = lock.run('x', never, async () => void (ran += 'c'));
  stop.abort(new Error('stopped'));
  await expect(b).rejects.toThrow('stopped');
  await expect(lock.run('x', stop.signal, async () => void (ran += 'd'))).rejects.toThrow('stopped');
  expect(ran).toBe('');
  first.resolve();
  await Promise.all([a, c]);
  expect(ran).toBe('c');
  expect(lock.size).toBe(0);
});
