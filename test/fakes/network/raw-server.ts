/** A socket that answers anything with the given bytes, and hangs up: the worst server there is. */
import { createServer, type Socket } from 'node:net';

export interface RawServer {
  readonly url: string;
  /** Sent as soon as the first byte of a request arrives; then the connection ends. Undefined: nothing is ever sent. */
  reply: Uint8Array | undefined;
  close(): Promise<void>;
}

export async function startRawServer(): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('data', () => {
      if (raw.reply !== undefined) socket.end(raw.reply);
    });
    // Half of these bytes make a client hang up first.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const raw: RawServer = {
    url: `http://127.0.0.1:${port}`,
    reply: undefined,
    async close() {
      const ended = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await ended;
    },
  };
  return raw;
}
