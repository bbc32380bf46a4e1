/** Our own socket server for the embedded database: many clients share its one session, transaction by transaction. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { type MessageGroup, PgClient } from './pglite-client.ts';
import { lastReadyState, queryFrame, SYNC } from './wire.ts';

/** How long a client may be idle inside a transaction before it is dropped, in milliseconds: all others wait for it. */
const OWNER_SILENCE_MS = 30_000;

/** The one session: takes whole protocol messages and returns the answers of Postgres. */
export interface PgSession {
  exec(messages: Buffer): Promise<Buffer>;
}

export interface PgServer {
  listen(socketPath: string): Promise<void>;
  /** Drops all clients and rolls back an open transaction. */
  close(): Promise<void>;
}

/** Serves `session` on a unix socket. */
export function createPgServer(session: PgSession, ownerSilenceMs = OWNER_SILENCE_MS): PgServer {
  const turns = new SessionTurns(session, ownerSilenceMs);
  const clients = new Set<PgClient>();
  let lastId = 0;
  const server = createServer((socket) => {
    lastId += 1;
    const client = new PgClient(lastId, socket, (changed) => {
      if (!changed.open) clients.delete(changed);
      turns.join(changed);
    });
    clients.add(client);
  });
  return {
    listen: (socketPath) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(socketPath, () => resolve());
      }),
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      // Each client reports its disconnection to the queue: that must be processed before the database closes.
      const gone = [...clients].map(({ socket }) => once(socket.destroy(), 'close'));
      await Promise.all([closed, ...gone]);
      await turns.idle();
    },
  };
}

/**
 * The queue for the session. A client owns it from its first message until ReadyForQuery reports idle; the others wait in
 * line. A client that disconnects while it owns the session is rolled back. Its `search_path` is applied; other session
 * state (SET, LISTEN, temporary tables) would be shared and must not be used.
 */
class SessionTurns {
  readonly #session: PgSession;
  readonly #silenceMs: number;
  readonly #line = new Set<PgClient>();
  #owner: PgClient | undefined;
  #searchPath: string | undefined;
  #silence: NodeJS.Timeout | undefined;
  #busy = false;
  #running: Promise<void> = Promise.resolve();

  constructor(session: PgSession, silenceMs: number) {
    this.#session = session;
    this.#silenceMs = silenceMs;
  }

  /** Called when a client has a message waiting, or has disconnected. */
  join(client: PgClient): void {
    if (this.#owner !== client) this.#line.add(client);
    if (!this.#busy) this.#running = this.#run();
  }

  /** Resolves once no client is waiting. */
  async idle(): Promise<void> {
    await this.#running;
    clearTimeout(this.#silence);
  }

  async #run(): Promise<void> {
    this.#busy = true;
    clearTimeout(this.#silence);
    for (let client = this.#next(); client !== undefined; client = this.#next()) {
      if (client.open) await this.#serve(client);
      else await this.#leave(client);
      // The database answers synchronously: this lets the event loop serve the sockets.
      await nextTick();
    }
    this.#busy = false;
    if (this.#owner === undefined) return;
    const { socket } = this.#owner;
    this.#silence = setTimeout(() => socket.destroy(), this.#silenceMs);
  }

  #next(): PgClient | undefined {
    if (this.#owner !== undefined) {
      return this.#owner.waiting || !this.#owner.open ? this.#owner : undefined;
    }
    const [first] = this.#line;
    if (first !== undefined) this.#line.delete(first);
    return first;
  }

  async #serve(client: PgClient): Promise<void> {
    const group = client.takeGroup();
    if (group === undefined) return;
    if (this.#owner === undefined) await this.#enter(client);
    this.#owner = client;
    const answer = await this.#session.exec(group.bytes);
    if (client.open) client.socket.write(answer);
    if (!isIdle(group, answer)) return;
    this.#owner = undefined;
    if (client.waiting || !client.open) this.#line.add(client);
  }

  /** Sets this client's search_path in the session. */
  async #enter(client: PgClient): Promise<void> {
    if (this.#searchPath === client.searchPath) return;
    const literal = client.searchPath.replaceAll("'", "''");
    await this.#session.exec(queryFrame(`select set_config('search_path', '${literal}', false)`));
    this.#searchPath = client.searchPath;
  }

  /** Rolls back the open transaction of a disconnected client and closes its prepared statements. */
  async #leave(client: PgClient): Promise<void> {
    if (this.#owner === client) {
      await this.#session.exec(Buffer.concat([SYNC, queryFrame('rollback')]));
      this.#owner = undefined;
    }
    const farewell = client.farewell();
    if (farewell !== undefined) await this.#session.exec(farewell);
  }
}

function isIdle(group: MessageGroup, answer: Buffer): boolean {
  return group.ends && lastReadyState(answer) === 'I';
}
