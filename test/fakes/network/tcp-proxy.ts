/**
 * A proxy between a Postgres client and its server, controlled by the test: it loses answers, stops a statement before
 * the server sees it or its answer before the client does, delays, swallows, resets and refuses.
 */
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { WireReader, type WireStatement } from './wire-statements.ts';

export interface TcpProxy {
  /** The port it listens on; 0 on a unix socket. */
  port: number;
  /** Loses the whole answer to the next statement that contains `pattern` in its text or values, then cuts that connection; resolves when it did. */
  loseAnswerTo(pattern: string): Promise<void>;
  /**
   * Holds the next matching statement: `before` the server sees it, or `after` it is committed and before the client
   * receives the answer. Its connection stays unchanged until it is cut.
   */
  hold(fits: (statement: WireStatement) => boolean, when: 'before' | 'after'): HeldStatement;
  /** From now on each piece of data travels this much later, in both directions; milliseconds. */
  delay(ms: number): void;
  /** Nothing passes any more, and no connection closes, until `restore`, which drops what was swallowed and its connections. */
  swallow(): void;
  /** Nothing passes any more on the connections that are open now, and none of them closes: so firewalls drop idle ones. */
  forget(): void;
  /** Cuts all connections and refuses new ones until `restore`. */
  refuse(): void;
  restore(): void;
  /** Cuts all connections now. */
  cut(): void;
  /** Resets all connections now (TCP RST). */
  reset(): void;
  close(): Promise<void>;
}

export interface HeldStatement {
  /** Resolves when the statement is held. */
  held: Promise<void>;
  /** Stops waiting for it. */
  forget(): void;
}

interface Trap {
  fits: (statement: WireStatement) => boolean;
  when: 'before' | 'after';
  sprung: (pair: { cut(): void }) => void;
}

/** Opens a proxy to `target`, on a free port or on a unix socket. */
export async function openTcpProxy(target: NetConnectOpts, socketPath?: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let state: 'open' | 'refusing' | 'swallowing' = 'open';
  let delayMs = 0;
  let trap: Trap | undefined;
  let remembered = Symbol('connections');

  const server = createServer((client) => {
    if (state === 'refusing') {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    const wire = new WireReader();
    /** The trap whose statement was sent, and the number of the answer that it waits for. */
    let due: { trap: Trap; answer: number } | undefined;
    let held = false;
    const own = remembered;
    const both = {
      cut(): void {
        client.destroy();
        upstream.destroy();
      },
    };
    const toServer = inOrder(upstream, () => delayMs);
    const toClient = inOrder(client, () => delayMs);
    const pass = (line: (chunk: Buffer) => void, chunk: Buffer): void => {
      if (state !== 'swallowing' && !held && own === remembered) line(chunk);
    };
    client.on('data', (chunk: Buffer) => {
      const found = wire.client(chunk).find((statement) => trap?.fits(statement) === true);
      if (found !== undefined && trap !== undefined) {
        const sprung = trap;
        trap = undefined;
        if (sprung.when === 'before') {
          held = true;
          sprung.sprung(both);
          return;
        }
        due = { trap: sprung, answer: found.answer };
      }
      pass(toServer, chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      const answered = wire.server(chunk);
      if (due === undefined) {
        pass(toClient, chunk);
        return;
      }
      // ReadyForQuery ends an answer: by then the statement is committed.
      if (answered < due.answer) return;
      held = true;
      const { sprung } = due.trap;
      due = undefined;
      sprung(both);
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
  const set = (fits: Trap['fits'], when: Trap['when']): Promise<{ cut(): void }> =>
    new Promise((sprung) => {
      trap = { fits, when, sprung };
    });
  const hold: TcpProxy['hold'] = (fits, when) => {
    const held = set(fits, when).then(() => undefined);
    const own = trap;
    return {
      held,
      forget() {
        if (trap === own) trap = undefined;
      },
    };
  };
  server.listen(socketPath === undefined ? { port: 0, host: '127.0.0.1' } : { path: socketPath });
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async loseAnswerTo(pattern) {
      const fits = ({ sql, values }: WireStatement): boolean =>
        sql.includes(pattern) || values.includes(pattern);
      (await set(fits, 'after')).cut();
    },
    hold,
    delay(ms) {
      delayMs = ms;
    },
    swallow() {
      state = 'swallowing';
    },
    forget() {
      remembered = Symbol('connections');
    },
    refuse() {
      state = 'refusing';
      cut();
    },
    restore() {
      if (state === 'swallowing') cut();
      state = 'open';
    },
    cut,
    reset() {
      for (const socket of sockets) {
        // Only TCP supports resets: a unix socket to the server is closed.
        if (socket.remoteAddress === undefined) socket.destroy();
        else socket.resetAndDestroy();
      }
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Writes each piece as much later as `delayMs` says when it comes, and never before an earlier piece, like TCP. */
export function inOrder(to: Writable, delayMs: () => number): (chunk: Buffer) => void {
  let waiting = 0;
  let last = Promise.resolve();
  return (chunk) => {
    const dueAt = performance.now() + delayMs();
    if (waiting === 0 && delayMs() === 0) {
      to.write(chunk);
      return;
    }
    waiting += 1;
    last = last.then(async () => {
      await pause(Math.max(0, dueAt - performance.now()));
      waiting -= 1;
      to.write(chunk);
    });
  };
}
