/** The proxy of programs without a network: it connects to the hosts of its list, at checked addresses, and to nothing else. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { MAX_PROXIED, openEgressProxy, type ProxiedHost } from '../../src/security/egress-proxy.ts';

const WAIT = { timeout: 10_000, interval: 10 };

/** A server that repeats what it gets, the proxy for these hosts, and what it refused. */
async function start(hosts: (port: number) => ProxiedHost[]) {
  const echo = net.createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const address = echo.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-proxy-'));
  const socket = path.join(folder, 'egress.sock');
  const refused: string[] = [];
  const failed: [number, string][] = [];
  let newest: net.Socket | undefined;
  const proxy = await openEgressProxy({
    socket,
    hosts: hosts(port),
    onRefused: (target) => void refused.push(target),
    // As the program does that is told.
    onFailed(id, code) {
      failed.push([id, code]);
      newest?.destroy();
    },
  });
  onTestFinished(async () => {
    await proxy.close();
    echo.close();
    await rm(folder, { recursive: true });
  });
  const send = async (text: string): Promise<string> => {
    const client = net.connect(socket);
    newest = client;
    let answer = '';
    client.setEncoding('utf8').on('data', (data: string) => (answer += data));
    client.on('error', () => undefined);
    client.end(text);
    await once(client, 'close');
    return answer;
  };
  return { port, refused, failed, send, socket };
}

it('carries what follows the first line, also when it comes with it', async () => {
  const { port, send, refused } = await start((port) => [{ host: 'localhost', port, isPrivate: true }]);
  expect(await send(`localhost ${port} 1\nhello\nthere`)).toBe('hello\nthere');
  expect(await send(`LOCALHOST ${port} 2\n`)).toBe('');
  expect(refused).toEqual([]);
});

it('refuses other hosts, other ports, and what is no first line, and says which', async () => {
  const { port, send, refused, failed } = await start((port) => [
    { host: 'localhost', port, isPrivate: true },
  ]);
  for (const line of [
    `127.0.0.1 ${port} 1`,
    `localhost ${port + 1} 2`,
    `evil.localhost ${port} 3`,
    'GET / HTTP/1.1',
  ])
    expect(await send(`${line}\nx`)).toBe('');
  expect(refused).toEqual([
    `127.0.0.1:${port}`,
    `localhost:${port + 1}`,
    `evil.localhost:${port}`,
    'something that is no host',
  ]);
  expect(failed).toEqual([1, 2, 3].map((id) => [id, 'EACCES']));
  expect(await send('x'.repeat(600))).toBe('');
});

it('lets names below a wildcard lead to public addresses only', async () => {
  const { port, send, refused } = await start((port) => [
    { host: '*.localhost', port, isPrivate: false },
    { host: '127.0.0.1', port, isPrivate: false },
  ]);
  expect(await send(`a.localhost ${port} 1\nx`)).toBe('');
  expect(await send(`127.0.0.1 ${port} 2\nx`)).toBe('');
  expect(refused).toEqual([`a.localhost:${port}`, `127.0.0.1:${port}`]);
});

it('says why a connection failed that was allowed', async () => {
  const { send, refused, failed } = await start(() => [{ host: '127.0.0.1', port: 1, isPrivate: true }]);
  expect(await send('127.0.0.1 1 7\nx')).toBe('');
  expect(refused).toEqual([]);
  expect(failed).toEqual([[7, 'ECONNREFUSED']]);
});

it(`holds at most ${MAX_PROXIED} connections`, async () => {
  const { port, socket } = await start((port) => [{ host: 'localhost', port, isPrivate: true }]);
  const clients = Array.from({ length: MAX_PROXIED + 1 }, () => net.connect(socket));
  onTestFinished(() => clients.forEach((client) => client.destroy()));
  const closed: number[] = [];
  for (const [at, client] of clients.entries()) {
    client.on('error', () => undefined).on('close', () => closed.push(at));
    client.write(`localhost ${port} 1\nx`);
  }
  await vi.waitFor(() => expect(closed).toHaveLength(1), WAIT);
});
