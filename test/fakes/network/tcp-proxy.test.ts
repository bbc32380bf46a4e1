import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { inOrder } from './tcp-proxy.ts';

test('what was sent while the proxy delayed stays before what is sent after it', async () => {
  let delayMs = 20;
  const to = new PassThrough();
  const send = inOrder(to, () => delayMs);
  send(Buffer.from('late, '));
  delayMs = 10;
  send(Buffer.from('sooner, '));
  delayMs = 0;
  send(Buffer.from('at once.'));

  let read = '';
  to.on('data', (bytes: Buffer) => (read += bytes.toString()));
  await expect.poll(() => read).toBe('late, sooner, at once.');
});
