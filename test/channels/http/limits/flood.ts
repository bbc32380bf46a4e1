/** A stranger who keeps as many connections open as it can: each that closes is opened again. */
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** Connections that one round opens, so that the server's own queue is never the limit. */
const ROUND = 200;
const PAUSE_MS = 5;

/** One flood. */
export interface Flood {
  /** How many the server has closed so far. */
  readonly closed: number;
  stop(): Promise<void>;
}

/** Keeps `count` connections to the channel, each of which sends `opening` and then nothing. */
export function startFlood(url: string, count: number, opening: string): Flood {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let closed = 0;
  const stopped = new AbortController();
  const dial = (): void => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(opening);
    });
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.on('close', () => {
      closed += 1;
      sockets.delete(socket);
    });
  };
  const running = (async () => {
    while (!stopped.signal.aborted) {
      for (let n = 0; n < ROUND && sockets.size < count; n += 1) dial();
      await wait(PAUSE_MS);
    }
  })();
  return {
    get closed() {
      return closed;
    },
    async stop() {
      stopped.abort();
      await running;
      for (const socket of sockets) socket.destroy();
    },
  };
}
