/** Ports for servers that a test starts under an address it must know before. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of the loopback address on which no program listens. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
