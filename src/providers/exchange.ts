/** One request and its answer on a pooled connection, from the first byte sent to the last one read. */
import type { Agent, Dispatcher } from 'undici';
import { ProviderError } from '../contracts/errors.ts';

/** Sees the bytes of an answer before the client does; what it throws ends the answer and closes the connection. */
export interface BodyFilter {
  /** True once the answer is complete, whatever may still come. */
  readonly complete: boolean;
  /** Takes a packet and hands on what of it may pass, also when it then throws. */
  write(packet: Buffer, pass: (bytes: Buffer) => void): void;
  /** The body ended: hands on what was still held back. */
  end(pass: (bytes: Buffer) => void): void;
}

/** What one call needs from its connection. */
export interface CallRules {
  signal: AbortSignal;
  filter: BodyFilter;
  /** The error for a status other than 200, with the body as text (clipped). */
  refused(status: number, text: string): ProviderError;
  /** The error for a connection that failed; `answered` tells whether the head of an answer had come. */
  lost(error: unknown, answered: boolean): ProviderError;
}

/** How much of a refusal is read; the rest of the body is not wanted. */
const MAX_REFUSAL_BYTES = 64 * 1024;
/** How much may wait for a slow reader before the connection is paused. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** How long a complete answer may take to end its HTTP body before the connection is given up. */
const SETTLE_MS = 1_000;

/** Undici's handler of one request; `answered` is true from the first byte of the answer on. */
export class Exchange implements Dispatcher.DispatchHandler {
  answered = false;
  readonly #rules: CallRules;
  readonly #filter: BodyFilter;
  readonly #response = Promise.withResolvers<Response>();
  readonly #stop = (): void => this.#drop(stopped(this.#rules.signal));
  readonly #take = (bytes: Buffer): void => {
    this.#unread.push(bytes);
    this.#unreadBytes += bytes.length;
    this.#deliver();
  };
  #connection: Dispatcher.DispatchController | undefined;
  #refusal: { status: number; parts: Buffer[]; bytes: number } | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #failure: ProviderError | undefined;
  #over = false;
  #waitingReader: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(rules: CallRules) {
    this.#rules = rules;
    this.#filter = rules.filter;
  }

  /** Sends the request and resolves with a 200 answer, its body still coming. Rejects with `ProviderError`. */
  send(agent: Agent, url: URL, init: RequestInit | undefined): Promise<Response> {
    const { signal } = this.#rules;
    if (signal.aborted) {
      this.#stop();
      return this.#response.promise;
    }
    signal.addEventListener('abort', this.#stop, { once: true });
    try {
      agent.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: init?.method === 'POST' ? 'POST' : 'GET',
          headers: Object.fromEntries(new Headers(init?.headers)),
          body: typeof init?.body === 'string' ? init.body : null,
        },
        this,
      );
    } catch (error) {
      this.#fail(this.#rules.lost(error, false));
    }
    return this.#response.promise;
  }

  /** Lets the connection go: back to the pool when the answer is complete, closed at once when it is not. */
  end(): void {
    if (this.#over) return;
    if (this.#filter.complete) setTimeout(this.#stop, SETTLE_MS).unref();
    else this.#stop();
  }

  onRequestStart(connection: Dispatcher.DispatchController): void {
    this.#connection = connection;
    if (this.#failure !== undefined) connection.abort(this.#failure);
  }

  onResponseStarted(): void {
    this.answered = true;
  }

  onResponseStart(
    _connection: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.answered = true;
    if (status < 200) return;
    if (status !== 200) {
      this.#refusal = { status, parts: [], bytes: 0 };
      return;
    }
    const type = headers['content-type'];
    const body = new ReadableStream<Uint8Array>(
      { pull: (reader) => this.#serve(reader) },
      { highWaterMark: 0 },
    );
    this.#response.resolve(
      new Response(body, { headers: { 'content-type': typeof type === 'string' ? type : 'text/plain' } }),
    );
  }

  onResponseData(connection: Dispatcher.DispatchController, packet: Buffer): void {
    if (this.#refusal !== undefined) return this.#readRefusal(this.#refusal, packet);
    this.#filtered(() => this.#filter.write(packet, this.#take));
    if (this.#unreadBytes > MAX_UNREAD_BYTES) connection.pause();
  }

  onResponseEnd(): void {
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal);
    this.#filtered(() => this.#filter.end(this.#take));
    this.#finish();
  }

  onResponseError(_connection: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#rules.lost(error, this.answered));
  }

  #filtered(step: () => void): void {
    if (this.#over) return;
    try {
      step();
    } catch (error) {
      this.#fail(this.#rules.lost(error, true));
    }
  }

  #serve(reader: ReadableStreamDefaultController<Uint8Array>): void {
    this.#waitingReader = reader;
    this.#deliver();
  }

  /** Gives a waiting reader what there is: all unread bytes in one piece, else the end, else nothing yet. */
  #deliver(): void {
    const reader = this.#waitingReader;
    if (reader === undefined || (this.#unread.length === 0 && !this.#over)) return;
    this.#waitingReader = undefined;
    const [first, ...more] = this.#unread;
    if (first !== undefined) {
      this.#unread = [];
      this.#unreadBytes = 0;
      reader.enqueue(more.length === 0 ? first : Buffer.concat([first, ...more]));
      this.#connection?.resume();
    } else if (this.#failure !== undefined) reader.error(this.#failure);
    else reader.close();
  }

  #readRefusal(refusal: { parts: Buffer[]; bytes: number; status: number }, packet: Buffer): void {
    refusal.parts.push(packet);
    refusal.bytes += packet.length;
    if (refusal.bytes > MAX_REFUSAL_BYTES) this.#refuse(refusal);
  }

  #refuse(refusal: { parts: Buffer[]; status: number }): void {
    const text = Buffer.concat(refusal.parts).toString('utf8', 0, MAX_REFUSAL_BYTES);
    this.#fail(this.#rules.refused(refusal.status, text));
  }

  /** Ends the call because its reader is gone: what it has not read is not wanted. */
  #drop(error: ProviderError): void {
    if (!this.#over) this.#unread = [];
    this.#fail(error);
  }

  /** Ends the call with an error, which the reader meets after the bytes that came before it. */
  #fail(error: ProviderError): void {
    if (this.#over) return;
    this.#failure = error;
    this.#finish();
    this.#response.reject(error);
    this.#connection?.abort(error);
  }

  #finish(): void {
    this.#over = true;
    this.#rules.signal.removeEventListener('abort', this.#stop);
    this.#deliver();
  }
}

function stopped(signal: AbortSignal): ProviderError {
  return new ProviderError('aborted', 'The model call was stopped.', { cause: signal.reason });
}
