/** The outgoing side of one WebSocket: one write for each turn of the event loop; a slow reader learns where to continue. */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { MAX_STREAM_BACKLOG_BYTES, MAX_STREAM_LAG_MS, PING_MS } from '../config.ts';
import type { StreamOwner } from '../event-stream.ts';
import type { KeptStream } from '../open-streams.ts';
import { CLOSE } from './frames.ts';

/** One open WebSocket with a caller. */
export class SocketStream implements KeptStream {
  readonly owner: StreamOwner;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #flushSoon: (stream: SocketStream) => void;
  /** The newest event that was written, by session: from there a reader continues. */
  readonly #cursors = new Map<SessionKey, string>();
  #corked = false;
  #blockedSince: number | undefined;
  #heardAt = performance.now();
  #pingedAt = performance.now();

  /** `flushSoon` must call `flush` in the same turn of the event loop. */
  constructor(
    owner: StreamOwner,
    { webSocket, socket }: { webSocket: WebSocket; socket: Socket },
    flushSoon: (stream: SocketStream) => void,
  ) {
    this.owner = owner;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#flushSoon = flushSoon;
    socket.on('drain', () => (this.#blockedSince = undefined));
    const noteSign = (): void => {
      this.#heardAt = performance.now();
    };
    webSocket.on('pong', noteSign).on('ping', noteSign).on('message', noteSign);
  }

  get open(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  /** Adds a frame to the next write, or closes the connection of a reader that is too far behind. */
  write(json: string): void {
    if (!this.open) return;
    if (this.#socket.writableLength + json.length > MAX_STREAM_BACKLOG_BYTES) this.#fallenBehind();
    else this.#put(json);
  }

  /** As `write`; remembers the event as the place from which the reader continues in this session. */
  writeEvent(session: SessionKey, id: string | undefined, json: string): void {
    this.write(json);
    if (id !== undefined && this.open) this.#cursors.set(session, id);
  }

  /** Forgets the place in a session that is no longer followed. */
  leave(session: SessionKey): void {
    this.#cursors.delete(session);
  }

  flush(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.#socket.uncork();
    if (this.#socket.writableNeedDrain) this.#blockedSince ??= performance.now();
  }

  maintain(now: number): void {
    const silent = now - this.#heardAt > 2 * PING_MS;
    const blocked = this.#blockedSince !== undefined && now - this.#blockedSince > MAX_STREAM_LAG_MS;
    if (silent || blocked) this.cut();
    else if (this.open && now - this.#pingedAt >= PING_MS) {
      this.#pingedAt = now;
      this.#webSocket.ping();
    }
  }

  cut(): void {
    this.#webSocket.terminate();
  }

  #put(json: string): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      this.#flushSoon(this);
    }
    this.#webSocket.send(json);
  }

  /** What was written before is still on its way; after it come the places to continue from. */
  #fallenBehind(): void {
    const resume = Object.fromEntries(this.#cursors);
    this.#put(JSON.stringify({ type: 'fallen_behind', resume }));
    this.#webSocket.close(CLOSE.tryAgain, 'fallen_behind');
    this.#webSocket.resume();
    this.#blockedSince ??= performance.now();
  }
}
