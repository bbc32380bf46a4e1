/** A proxy in front of the Postgres of a test. */
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { openTcpProxy, type TcpProxy } from '../../fakes/network/tcp-proxy.ts';

/** Opens a proxy to the server of an address; `url` leads through it. It closes with the test. */
export async function proxyTo(address: string): Promise<{ proxy: TcpProxy; url: string }> {
  const target = new URL(address);
  // Without a host in the URL, PGHOST says where the server is: on a Unix socket.
  const port = Number(target.port || 5432);
  const server =
    target.hostname === ''
      ? { path: path.join(process.env['PGHOST'] ?? '/var/run/postgresql', `.s.PGSQL.${port}`) }
      : { host: target.hostname, port };
  const proxy = await openTcpProxy(server);
  onTestFinished(() => proxy.close());
  target.host = `127.0.0.1:${proxy.port}`;
  return { proxy, url: target.href };
}
