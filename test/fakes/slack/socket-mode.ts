/** Socket Mode of the fake Slack: envelopes that are repeated until they are acknowledged, and connections that are recycled. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';

export type EnvelopeType = 'events_api' | 'slash_commands' | 'interactive';

interface Pending {
  id: string;
  type: EnvelopeType;
  payload: object;
  attempts: number;
  on?: WebSocket;
  timer?: NodeJS.Timeout;
}

const Ack = z.strictObject({
  envelope_id: z.string(),
  payload: z.record(z.string(), z.unknown()).optional(),
});

/** How often an event is sent in total; Slack repeats at once, after a minute and after five. */
const MAX_ATTEMPTS = 4;

export interface SocketModeOptions {
  /** How long an envelope waits for its acknowledgement before it is repeated, in milliseconds. */
  repeatAfterMs: number;
  /** The answer to a slash command. */
  answered: (id: string, payload: Record<string, unknown> | undefined) => void;
}

export class SocketMode {
  /** Connections that were opened, and frames that acknowledge nothing. */
  readonly counts = { connections: 0, foreign: 0, missed: 0, repeats: 0 };
  /** Called as soon as a connection was sent hello. */
  welcomed: () => void = () => undefined;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #tickets = new Set<string>();
  readonly #sockets = new Set<WebSocket>();
  readonly #draining = new Set<WebSocket>();
  readonly #pending = new Map<string, Pending>();
  readonly #options: SocketModeOptions;
  #ids = 0;

  constructor(options: SocketModeOptions) {
    this.#options = options;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Envelopes that wait for their acknowledgement. */
  get waiting(): number {
    return this.#pending.size;
  }

  /** A ticket for one connection. */
  ticket(): string {
    const ticket = `ticket-${++this.#ids}`;
    this.#tickets.add(ticket);
    return ticket;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? '/', 'ws://fake').searchParams.get('ticket') ?? '';
    if (!this.#tickets.delete(ticket)) {
      socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#welcome(client));
  }

  /** Sends an envelope; returns its id. Events that find no connection are lost: the app reads the history. */
  deliver(type: EnvelopeType, payload: object): string {
    const id = `envelope-${++this.#ids}`;
    const pending: Pending = { id, type, payload, attempts: 0 };
    this.#pending.set(id, pending);
    this.#send(pending);
    return id;
  }

  /** Slack is about to renew the connections: they continue until the app closes them. */
  recycle(reason: 'warning' | 'refresh_requested' | 'link_disabled'): void {
    for (const socket of this.#sockets) {
      this.#draining.add(socket);
      socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'fake' } }));
    }
  }

  /** All connections break. */
  cut(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  close(): void {
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
    this.cut();
    this.#server.close();
  }

  #welcome(client: WebSocket): void {
    this.counts.connections += 1;
    this.#sockets.add(client);
    client.on('message', (data) => this.#acknowledge(Buffer.isBuffer(data) ? data.toString('utf8') : ''));
    client.on('error', () => client.terminate());
    client.on('close', () => {
      this.#sockets.delete(client);
      this.#draining.delete(client);
      for (const pending of this.#pending.values()) if (pending.on === client) this.#repeat(pending);
    });
    client.send(JSON.stringify({ type: 'hello', num_connections: this.#sockets.size }));
    this.welcomed();
    for (const pending of this.#pending.values()) if (pending.on === undefined) this.#send(pending);
  }

  #send(pending: Pending): void {
    const open = [...this.#sockets].filter((one) => one.readyState === WebSocket.OPEN);
    const socket = open.find((one) => !this.#draining.has(one)) ?? open[0];
    if (socket === undefined) {
      // What was sent before is repeated when the app is back; what never was is lost.
      delete pending.on;
      if (pending.attempts > 0 && pending.type === 'events_api') return;
      this.counts.missed += 1;
      this.#pending.delete(pending.id);
      return;
    }
    pending.on = socket;
    pending.attempts += 1;
    const { id, type, payload, attempts } = pending;
    const retry = attempts > 1 ? { retry_attempt: attempts - 1, retry_reason: 'timeout' } : {};
    const accepts = { accepts_response_payload: type === 'slash_commands' };
    socket.send(JSON.stringify({ envelope_id: id, type, payload, ...accepts, ...retry }));
    clearTimeout(pending.timer);
    pending.timer = setTimeout(() => this.#repeat(pending), this.#options.repeatAfterMs);
    pending.timer.unref();
  }

  #repeat(pending: Pending): void {
    clearTimeout(pending.timer);
    if (!this.#pending.has(pending.id)) return;
    if (pending.type !== 'events_api' || pending.attempts >= MAX_ATTEMPTS) {
      this.#pending.delete(pending.id);
      return;
    }
    this.counts.repeats += 1;
    this.#send(pending);
  }

  #acknowledge(text: string): void {
    const { data } = Ack.safeParse(JSON.parse(text));
    const pending = data && this.#pending.get(data.envelope_id);
    if (data === undefined || pending === undefined) {
      this.counts.foreign += 1;
      return;
    }
    clearTimeout(pending.timer);
    this.#pending.delete(pending.id);
    this.#options.answered(pending.id, data.payload);
  }
}
