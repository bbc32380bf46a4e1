/** The open event streams: bounded in number, flushed together, closed with the channel or when their token is revoked. */
import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type Caller, hasScope } from '../../src/protocol/access.ts';
import { MAX_STREAMS, RECHECK_MS, RESERVED_STREAMS } from './config.ts';
import { HttpError } from './errors.ts';
import { EventStream, type StreamFormat, type StreamOwner } from './event-stream.ts';

/** Interval of the check for silent streams and lagging readers. */
const MAINTAIN_MS = 500;

/** Returns the callers behind `Authorization` values as they are now; values that are no longer valid are missing. */
export type Recheck = (authorizations: readonly string[]) => Promise<ReadonlyMap<string, Caller>>;

/** What is kept open for a reader: an event stream or a WebSocket. */
export interface KeptStream {
  readonly owner: StreamOwner;
  /** Writes what was added since the last write. */
  flush(): void;
  /** Pings a silent reader, and disconnects one that has read nothing for too long. */
  maintain(now: number): void;
  cut(): void;
}

/** All open streams of this channel; timers maintain them and check their tokens. */
export class OpenStreams {
  readonly #streams = new Set<KeptStream>();
  readonly #counts = new Map<string, number>();
  readonly #recheck: Recheck;
  readonly #perToken: number;
  readonly #timers: NodeJS.Timeout[];
  #checking = false;
  /** Streams with frames to write at the end of this turn of the event loop. */
  #unflushed: KeptStream[] = [];

  constructor(recheck: Recheck, streamsPerToken: number) {
    this.#recheck = recheck;
    this.#perToken = streamsPerToken;
    this.#timers = [
      setInterval(() => this.#maintain(), MAINTAIN_MS).unref(),
      setInterval(() => void this.#checkTokens(), RECHECK_MS).unref(),
    ];
  }

  /** Opens a stream on this response. Throws `HttpError` 429 when too many are open; the last places are for admins. */
  add(owner: StreamOwner, outgoing: ServerResponse, format?: StreamFormat): EventStream {
    const make = (flushSoon: (stream: KeptStream) => void): EventStream =>
      new EventStream(owner, outgoing, performance.now(), flushSoon, format);
    return this.keep(owner, outgoing, make);
  }

  /** Keeps what `make` returns until `closing` closes. Throws `HttpError` 429 at the limit; the last places are for admins. */
  keep<Stream extends KeptStream>(
    { caller }: StreamOwner,
    closing: EventEmitter,
    make: (flushSoon: (stream: KeptStream) => void) => Stream,
  ): Stream {
    const { tokenId } = caller;
    const openCount = this.#counts.get(tokenId) ?? 0;
    const isAdmin = hasScope(caller, 'admin');
    if (!isAdmin && openCount >= this.#perToken) {
      throw tooMany(`This token has ${this.#perToken} open streams, the maximum; close one.`);
    }
    if (this.#streams.size >= MAX_STREAMS - (isAdmin ? 0 : RESERVED_STREAMS)) {
      throw tooMany(`${this.#streams.size} streams are already open; try again later.`);
    }
    this.#counts.set(tokenId, openCount + 1);
    const stream = make((ready) => this.#flushSoon(ready));
    this.#streams.add(stream);
    closing.once('close', () => {
      this.#streams.delete(stream);
      const remaining = (this.#counts.get(tokenId) ?? 1) - 1;
      if (remaining === 0) this.#counts.delete(tokenId);
      else this.#counts.set(tokenId, remaining);
    });
    return stream;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Cuts every stream and stops the timers. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const stream of this.#streams) stream.cut();
  }

  #flushSoon(stream: KeptStream): void {
    if (this.#unflushed.length === 0) setImmediate(() => this.#flush());
    this.#unflushed.push(stream);
  }

  #flush(): void {
    const streams = this.#unflushed;
    this.#unflushed = [];
    for (const stream of streams) stream.flush();
  }

  #maintain(): void {
    const now = performance.now();
    for (const stream of this.#streams) stream.maintain(now);
  }

  /** One query for all tokens. A stream whose token died or has other scopes now is cut; its client may try again. */
  async #checkTokens(): Promise<void> {
    if (this.#checking || this.#streams.size === 0) return;
    this.#checking = true;
    const streams = [...this.#streams];
    try {
      const callers = await this.#recheck([...new Set(streams.map(({ owner }) => owner.authorization))]);
      for (const stream of streams) {
        const { authorization, caller } = stream.owner;
        if (!isSame(caller, callers.get(authorization))) stream.cut();
      }
    } catch {
      // The store cannot be reached: the tokens stay valid until the next check.
    } finally {
      this.#checking = false;
    }
  }
}

function isSame(previous: Caller, now: Caller | undefined): boolean {
  return now?.tokenId === previous.tokenId && String(now.scopes) === String(previous.scopes);
}

function tooMany(message: string): HttpError {
  return new HttpError(429, 'too_many_streams', message, { retryAfterMs: 5_000 });
}
