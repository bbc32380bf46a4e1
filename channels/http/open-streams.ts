/** The open event streams: bounded in number, flushed together, closed with the channel or when their token is revoked. */
import type { ServerResponse } from 'node:http';
import { MAX_STREAMS, RECHECK_MS } from './config.ts';
import { HttpError } from './errors.ts';
import { EventStream } from './event-stream.ts';
import type { StreamOwner } from './event-stream.ts';

/** Interval of the check for silent streams and lagging readers. */
const MAINTAIN_MS = 500;

/** All open streams of this channel; timers maintain them and check their tokens. */
export class OpenStreams {
  readonly #streams = new Set<EventStream>();
  readonly #isStillValid: (authorization: string) => Promise<boolean>;
  readonly #timers: NodeJS.Timeout[];
  /** Streams with frames to write at the end of this turn of the event loop. */
  #unflushed: EventStream[] = [];

  constructor(isStillValid: (authorization: string) => Promise<boolean>) {
    this.#isStillValid = isStillValid;
    this.#timers = [
      setInterval(() => this.#maintain(), MAINTAIN_MS).unref(),
      setInterval(() => this.#recheck(), RECHECK_MS).unref(),
    ];
  }

  /** Opens a stream on this response. Throws `HttpError` 429 when too many are open. */
  add(owner: StreamOwner, outgoing: ServerResponse): EventStream {
    if (this.#streams.size >= MAX_STREAMS) {
      throw new HttpError(429, 'too_many_streams', `${MAX_STREAMS} streams are open already; close one.`, {
        retryAfterMs: 5_000,
      });
    }
    const stream = new EventStream(owner, outgoing, Date.now(), (ready) => this.#flushSoon(ready));
    this.#streams.add(stream);
    outgoing.once('close', () => this.#streams.delete(stream));
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

  #flushSoon(stream: EventStream): void {
    if (this.#unflushed.length === 0) setImmediate(() => this.#flush());
    this.#unflushed.push(stream);
  }

  #flush(): void {
    const streams = this.#unflushed;
    this.#unflushed = [];
    for (const stream of streams) stream.flush();
  }

  #maintain(): void {
    const now = Date.now();
    for (const stream of this.#streams) stream.maintain(now);
  }

  #recheck(): void {
    const headers = new Set([...this.#streams].map((stream) => stream.owner.authorization));
    for (const authorization of headers) {
      this.#isStillValid(authorization).then(
        (isValid) => {
          if (!isValid) this.#cutAll(authorization);
        },
        // The store cannot be reached: the token stays valid until the next check.
        () => undefined,
      );
    }
  }

  #cutAll(authorization: string): void {
    for (const stream of this.#streams) if (stream.owner.authorization === authorization) stream.cut();
  }
}
