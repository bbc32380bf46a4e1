/** A front for a platform or a model server, like a load balancer: it forwards everything, or fails in its own ways. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** `json` and `page` answer 502 with that body, `reset` cuts, `silent` accepts everything and answers nothing. */
export type Outage = 'json' | 'page' | 'reset' | 'silent';

export interface HttpFront {
  /** `http://127.0.0.1:port`. */
  url: string;
  /** From now on every connection fails like this, including open ones; undefined = everything is forwarded again. */
  fail(outage: Outage | undefined): void;
  close(): Promise<void>;
}

const BODIES = {
  json: ['application/json', '{"ok":false,"error_code":502,"description":"Bad Gateway","message":"502"}'],
  page: ['text/html', '<html><h1>502 Bad Gateway</h1></html>'],
} as const;

function badGateway(kind: keyof typeof BODIES): string {
  const [type, body] = BODIES[kind];
  const head = `HTTP/1.1 502 Bad Gateway\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}`;
  return `${head}\r\nconnection: close\r\n\r\n${body}`;
}

/** Opens a front on a free port before the server on that loopback port. */
export async function openHttpFront(port: number): Promise<HttpFront> {
  const pairs = new Set<[client: Socket, upstream: Socket]>();
  let outage: Outage | undefined;
  const endAll = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy();
  };
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    client.on('data', (chunk) => {
      if (outage === undefined) upstream.write(chunk);
      else if (outage === 'reset') client.resetAndDestroy();
      else if (outage !== 'silent') client.end(badGateway(outage));
    });
    upstream.on('data', (chunk) => {
      if (outage === undefined) client.write(chunk);
    });
    for (const [socket, other] of [pair, pair.toReversed() as typeof pair]) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    fail(next) {
      outage = next;
      // A silent front keeps its connections open.
      if (next !== 'silent') endAll();
    },
    async close() {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}
