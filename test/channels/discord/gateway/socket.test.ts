/** How a socket to Discord's gateway ends when the other side does not do its part. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { GatewaySocket } from '../../../../channels/discord/gateway/socket.ts';
import { silentLog } from '../../../database.ts';

const HELLO = JSON.stringify({ op: 10, d: { heartbeat_interval: 60_000 }, s: null, t: null });
const CLOSE_MS = 100;

describe('closing a socket to the gateway', () => {
  let server: WebSocketServer;
  let identifies = 0;

  beforeEach(async () => {
    identifies = 0;
    server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });

  const urlOf = (address: ReturnType<WebSocketServer['address']>): string =>
    `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;

  function newSocket(url = urlOf(server.address())): GatewaySocket {
    return new GatewaySocket({
      token: 'token',
      shard: { id: 0, count: 1 },
      url,
      intents: 0,
      session: undefined,
      mayIdentify: () => {
        identifies += 1;
        return Promise.resolve(true);
      },
      event: () => undefined,
      alive: () => undefined,
      log: silentLog,
      closeMs: CLOSE_MS,
    });
  }

  async function connected(): Promise<WebSocket> {
    const [socket]: WebSocket[] = await once(server, 'connection');
    if (socket === undefined) throw new Error('no socket');
    return socket;
  }

  it('waits for the HELLO, closes with a code that keeps the session, and starts none', async () => {
    const socket = newSocket();
    const ended = socket.open();
    const client = await connected();
    const closed = once(client, 'close');
    const closing = socket.close();
    client.send(HELLO);
    expect((await closed)[0]).toBe(4_200);
    await closing;
    expect(await ended).toEqual({ code: 4_200, sessionLost: false });
    expect(identifies).toBe(0);
  });

  it('closes a socket whose HELLO arrives only after the end', async () => {
    const socket = newSocket();
    const ended = socket.open();
    const client = await connected();
    await socket.close();
    expect(await ended).toEqual({ code: 4_200, sessionLost: false });
    client.send(HELLO);
    await once(client, 'close');
    expect(server.clients.size).toBe(0);
    expect(identifies).toBe(0);
  });

  it('ends without an answer to the close', async () => {
    const socket = newSocket();
    const ended = socket.open();
    const client = await connected();
    client.send(HELLO);
    await vi.waitFor(() => expect(identifies).toBe(1));
    client.pause();
    await socket.close();
    expect(await ended).toEqual({ code: 4_200, sessionLost: false });
  });

  it('ends without an answer to the handshake', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const socket = newSocket(urlOf(silent.address()));
    const ended = socket.open();
    const [client] = await once(silent, 'connection');
    await socket.close();
    expect(await ended).toEqual({ code: 4_200, sessionLost: false });
    client.destroy();
    silent.close();
  });
});
