/** Answer streams that are open: each written without waiting, none allowed to pile up, all closed when the door closes. */
import type { ServerResponse } from 'node:http';
import type { Caller } from '../../src/contracts/access.ts';
import { MAX_STREAM_BACKLOG_BYTES, MAX_STREAM_LAG_MS, MAX_STREAMS, PING_MS, RECHECK_MS } from './config.ts';
import { HttpFault } from './errors.ts';

/** Who a stream is for; its token is asked about again while the stream is open. */
export interface StreamOwner {
  caller: Caller;
  authorization: string;
}

/** How often streams are looked at for pings and for readers that lag. */
const TICK_MS = 500;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that buffer would hold the first token back.
  'x-accel-buffering': 'no',
};

/**
 * One event stream. Frames go straight to the socket: no web streams and no promise between a token and its reader.
 * A reader that falls behind is cut off, never waited for; ids in the frames let it go on where it was.
 */
export class EventStream {
  readonly owner: StreamOwner;
  readonly #outgoing: ServerResponse;
  #writtenAt: number;
  #blockedSince: number | undefined;

  constructor(owner: StreamOwner, outgoing: ServerResponse, now: number) {
    this.owner = owner;
    this.#outgoing = outgoing;
    this.#writtenAt = now;
    outgoing.on('drain', () => (this.#blockedSince = undefined));
  }

  /** True once the status line has gone: from here on a failure can only be an error frame. */
  get begun(): boolean {
    return this.#outgoing.headersSent;
  }

  get open(): boolean {
    return !this.#outgoing.destroyed && !this.#outgoing.writableEnded;
  }

  /** Sends the status line and headers now. */
  begin(): void {
    if (this.begun || !this.open) return;
    this.#outgoing.writeHead(200, HEADERS);
    this.#outgoing.flushHeaders();
  }

  /** Writes whole frames; a reader already too far behind loses its connection instead. */
  write(frames: string): void {
    if (!this.open) return;
    if (!this.begun) this.#outgoing.writeHead(200, HEADERS);
    if (this.#outgoing.writableLength + frames.length > MAX_STREAM_BACKLOG_BYTES) {
      this.cut();
      return;
    }
    this.#writtenAt = Date.now();
    if (!this.#outgoing.write(frames)) this.#blockedSince ??= this.#writtenAt;
  }

  /** Ends the stream as it should end. */
  end(): void {
    if (this.open) this.#outgoing.end();
  }

  /** Closes the connection; what it had not read yet is gone. */
  cut(): void {
    this.#outgoing.destroy();
  }

  /** Pings when silent, cuts when the reader has taken nothing for too long. */
  tend(now: number): void {
    if (this.#blockedSince !== undefined && now - this.#blockedSince > MAX_STREAM_LAG_MS) this.cut();
    else if (now - this.#writtenAt >= PING_MS) this.write(': ping\n\n');
  }
}

/** All open streams of this door; one timer tends them, one question per token keeps them honest. */
export class OpenStreams {
  readonly #streams = new Set<EventStream>();
  readonly #stillHolds: (authorization: string) => Promise<boolean>;
  readonly #timers: NodeJS.Timeout[];

  constructor(stillHolds: (authorization: string) => Promise<boolean>) {
    this.#stillHolds = stillHolds;
    this.#timers = [
      setInterval(() => this.#tend(), TICK_MS).unref(),
      setInterval(() => this.#recheck(), RECHECK_MS).unref(),
    ];
  }

  /** A stream on this response. Throws `HttpFault` 429 when there are too many. */
  add(owner: StreamOwner, outgoing: ServerResponse): EventStream {
    if (this.#streams.size >= MAX_STREAMS) {
      throw new HttpFault(429, 'too_many_streams', `${MAX_STREAMS} streams are open already; close one.`, {
        retryAfterMs: 5_000,
      });
    }
    const stream = new EventStream(owner, outgoing, Date.now());
    this.#streams.add(stream);
    outgoing.once('close', () => this.#streams.delete(stream));
    return stream;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Cuts every stream and stops tending. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const stream of this.#streams) stream.cut();
  }

  #tend(): void {
    const now = Date.now();
    for (const stream of this.#streams) stream.tend(now);
  }

  #recheck(): void {
    const headers = new Set([...this.#streams].map((stream) => stream.owner.authorization));
    for (const authorization of headers) {
      this.#stillHolds(authorization).then(
        (holds) => {
          if (!holds) this.#cutAll(authorization);
        },
        // The store is away: nothing is known against the token, and the next round asks again.
        () => undefined,
      );
    }
  }

  #cutAll(authorization: string): void {
    for (const stream of this.#streams) if (stream.owner.authorization === authorization) stream.cut();
  }
}
