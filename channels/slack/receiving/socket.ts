/**
 * One Socket Mode connection: from its address to its end. `@slack/socket-mode` 3.1.0 is not used: when Slack renews
 * a connection it closes the old one first and opens the next after 5 seconds (4.85 s without one, 97 of 154 events
 * lost, compared with none here); it treats `link_disabled` as a renewal, accepts any address that it gets, and ends
 * the process by an unhandled rejection if `apps.connections.open` fails while it reconnects.
 */
import { type RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { parseJson } from '../../../src/lib/json/json.ts';

/** Time between two pings, and the longest silence, in milliseconds. */
const PING_MS = 10_000;
const SILENCE_MS = 35_000;

const Frame = z.object({ type: z.string(), reason: z.string().optional() });
const Envelope = z.object({
  envelope_id: z.string(),
  type: z.enum(['events_api', 'slash_commands', 'interactive']),
  payload: z.unknown(),
});

/** A request that Slack wants acknowledged. */
export interface Envelope {
  type: 'events_api' | 'slash_commands' | 'interactive';
  payload: unknown;
  /** Tells Slack not to resend this, if the connection is still open; `response` is the immediate answer to a command. */
  ack: (response?: object) => void;
}

/** Why a connection is about to end, or has ended: `link_disabled` if Socket Mode was disabled. */
export type Ending = 'warning' | 'refresh_requested' | 'link_disabled' | 'closed';

export interface SocketListener {
  envelope: (envelope: Envelope) => void;
  /** Called once, at the first sign of the end: the connection may deliver envelopes for a while longer. */
  ending: (reason: Ending) => void;
}

export class Socket {
  /** Resolves when Slack has said hello; rejects if the connection ends first. */
  readonly ready: Promise<void>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #listener: SocketListener;
  readonly #hello = Promise.withResolvers<void>();
  #heardAt = performance.now();
  #isEnding = false;

  constructor(url: string, listener: SocketListener) {
    this.#listener = listener;
    this.#socket = new WebSocket(url, { handshakeTimeout: 10_000, perMessageDeflate: false });
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    this.ready = this.#hello.promise;
    const alive = setInterval(() => this.#lookAlive(), PING_MS);
    alive.unref();
    this.#socket.on('message', (data) => this.#read(data));
    for (const event of ['ping', 'pong', 'open'] as const) this.#socket.on(event, () => this.#heard());
    // A `close` follows.
    this.#socket.on('error', (error) => this.#hello.reject(error));
    this.#socket.on('close', () => {
      clearInterval(alive);
      this.#hello.reject(new Error('The connection ended before Slack said hello.'));
      closed.resolve();
      this.#end('closed');
    });
    // Whoever awaits it receives the failure; no one does if the link gives up first.
    this.ready.catch(() => undefined);
  }

  /** Closes the connection; one that does not answer is broken after `ms`. */
  async close(ms: number): Promise<void> {
    this.#socket.close(1000);
    const timer = setTimeout(() => this.#socket.terminate(), ms);
    await this.closed;
    clearTimeout(timer);
  }

  #heard(): void {
    this.#heardAt = performance.now();
  }

  #lookAlive(): void {
    if (performance.now() - this.#heardAt > SILENCE_MS) this.#socket.terminate();
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  #read(data: RawData): void {
    this.#heard();
    const frame = parseJson(Buffer.isBuffer(data) ? data.toString('utf8') : '');
    const { type, reason } = Frame.safeParse(frame).data ?? {};
    if (type === 'hello') this.#hello.resolve();
    if (type === 'disconnect') this.#end(endingOf(reason));
    const { data: envelope } = Envelope.safeParse(frame);
    if (envelope === undefined) return;
    const ack = (response?: object): void => this.#ack(envelope.envelope_id, response);
    this.#listener.envelope({ type: envelope.type, payload: envelope.payload, ack });
  }

  #ack(id: string, payload: object | undefined): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify({ envelope_id: id, ...(payload !== undefined && { payload }) }));
  }

  #end(reason: Ending): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#listener.ending(reason);
  }
}

function endingOf(reason: string | undefined): Ending {
  return reason === 'link_disabled' || reason === 'warning' ? reason : 'refresh_requested';
}
