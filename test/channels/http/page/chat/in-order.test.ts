/** Work for one chat is done in the order in which it was given. */
import { expect, it } from 'vitest';
import { InOrder } from '../../../../../channels/http/page/chat/outbox.ts';

it('starts a task once the previous one has ended, even if that one failed', async () => {
  const order = new InOrder();
  const first = Promise.withResolvers<void>();
  const begun: string[] = [];
  const failed = order.run('http:a', () => {
    begun.push('first');
    return first.promise;
  });
  const next = order.run('http:a', async () => void begun.push('second'));
  const last = order.run('http:a', async () => void begun.push('third'));
  await order.run('http:b', async () => void begun.push('another chat'));
  expect(begun).toEqual(['first', 'another chat']);
  first.reject(new Error('refused'));
  await expect(failed).rejects.toThrow('refused');
  await Promise.all([next, last]);
  expect(begun).toEqual(['first', 'another chat', 'second', 'third']);
});
