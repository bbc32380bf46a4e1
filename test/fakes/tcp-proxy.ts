/**
 * A proxy between a Postgres client and its server whose hand can lose an answer: what was asked reaches the server and
 * is committed, and the connection breaks before the client hears of it.
 */
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { once } from 'node:events';

export interface TcpProxy {
  /** The port it listens on; 0 on a unix socket. */
  port: number;
  /** Loses the whole answer to the next message that contains `pattern`, then cuts that connection; resolves when it did. */
  loseAnswerTo(pattern: string): Promise<void>;
  /** Cuts all connections and refuses new ones until `restore`. */
  refuse(): void;
  restore(): void;
  /** Cuts all connections now. */
  cut(): void;
  close(): Promise<void>;
}

/** Opens a proxy to `target`, on a free port or on a unix socket. */
export async function openTcpProxy(target: NetConnectOpts, socketPath?: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let refusing = false;
  let trap: { pattern: string; sprung: () => void } | undefined;

  const server = createServer((client) => {
    if (refusing) {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    let sprung: (() => void) | undefined;
    client.on('data', (chunk: Buffer) => {
      if (trap !== undefined && chunk.includes(trap.pattern)) {
        ({ sprung } = trap);
        trap = undefined;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (sprung === undefined) {
        client.write(chunk);
        return;
      }
      // ReadyForQuery ends an answer: by then the statement is committed.
      if (chunk.at(-6) !== 0x5a) return;
      client.destroy();
      upstream.destroy();
      sprung();
    });
    pair(client, upstream);
    pair(upstream, client);
  });
  const pair = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(socketPath === undefined ? { port: 0, host: '127.0.0.1' } : { path: socketPath });
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    loseAnswerTo: (pattern) =>
      new Promise((sprung) => {
        trap = { pattern, sprung };
      }),
    refuse() {
      refusing = true;
      cut();
    },
    restore() {
      refusing = false;
    },
    cut,
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
