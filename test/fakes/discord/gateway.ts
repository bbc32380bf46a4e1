/** The fake Discord's gateway over a real WebSocket: hello, identify, heartbeats, dispatch, resume with replay, close codes. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { RawData } from 'ws';
import { z } from 'zod';

export const INTENT = { guildMessages: 1 << 9, directMessages: 1 << 12, messageContent: 1 << 15 };
const KNOWN_INTENTS = (1 << 26) - 1;
const MAX_PAYLOAD_BYTES = 4_096;
const MAX_SENDS = 120;
const SEND_WINDOW_MS = 60_000;
/** The server closes a connection after this many missed heartbeats. */
const MISSED_BEATS = 2.5;

const Frame = z.object({ op: z.number(), d: z.unknown() });
const Identify = z.object({
  token: z.string(),
  intents: z.number(),
  properties: z.object({ os: z.string(), browser: z.string(), device: z.string() }),
});
const Resume = z.object({ token: z.string(), session_id: z.string(), seq: z.number().nullable() });

interface Session {
  id: string;
  intents: number;
  seq: number;
  log: { s: number; t: string; d: object }[];
  socket: WebSocket | undefined;
}

export interface GatewaySettings {
  token: string;
  heartbeatMs: number;
  /** Least time between two identifies; sooner gets an invalid session. */
  identifySpacingMs: number;
  now(): number;
  /** The READY payload without session id and resume address. */
  ready(): object;
  url(): string;
}

export class FakeGateway {
  /** The Developer Portal's switch "Message Content Intent". */
  messageContentAllowed = true;
  /** Connections whose heartbeats are not answered, and to which nothing is dispatched. */
  readonly #unanswered = new WeakSet<WebSocket>();
  readonly counts = { connections: 0, identifies: 0, resumes: 0, heartbeats: 0, startsLeft: 1_000 };
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, Session>();
  readonly #settings: GatewaySettings;
  #lastIdentify = -Infinity;

  constructor(settings: GatewaySettings) {
    this.#settings = settings;
  }

  get open(): number {
    return this.#server.clients.size;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (connection) => {
      const query = new URL(request.url ?? '/', 'http://fake').searchParams;
      this.#greet(connection, query.get('v'), query.get('encoding'));
    });
  }

  /** Sends an event to every session whose intents cover it; sessions without a connection get it when they resume. */
  dispatch(t: string, intent: number, shape: (intents: number) => object): void {
    for (const session of this.#sessions.values()) {
      if (intent !== 0 && (session.intents & intent) === 0) continue;
      this.#push(session, t, shape(session.intents));
    }
  }

  /** Closes every connection with a code. */
  close(code: number): void {
    for (const socket of this.#server.clients) socket.close(code);
  }

  /** Breaks every connection without a close frame. */
  cut(): void {
    for (const socket of this.#server.clients) socket.terminate();
  }

  /** Asks every client to reconnect and resume (op 7). */
  askReconnect(): void {
    for (const socket of this.#server.clients) send(socket, { op: 7, d: null });
  }

  /** Op 9; with `resumable` false all sessions are deleted, with their events. */
  invalidate(resumable: boolean): void {
    for (const socket of this.#server.clients) send(socket, { op: 9, d: resumable });
    if (!resumable) this.forgetSessions();
  }

  /** Deletes all sessions: they cannot be resumed, and events are not kept for them. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  /** From now on the open connections get neither answers to heartbeats nor events. */
  ignoreHeartbeats(): void {
    for (const socket of this.#server.clients) this.#unanswered.add(socket);
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise<void>((done) => {
      this.#server.close(() => {
        done();
      });
    });
  }

  #greet(socket: WebSocket, version: string | null, encoding: string | null): void {
    this.counts.connections += 1;
    if (version !== '10' || encoding !== 'json') {
      socket.close(4_012, 'Invalid API version.');
      return;
    }
    const sends: number[] = [];
    let session: Session | undefined;
    let lastBeat = performance.now();
    const watch = setInterval(() => {
      if (performance.now() - lastBeat > this.#settings.heartbeatMs * MISSED_BEATS) socket.close(4_009);
    }, this.#settings.heartbeatMs);
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      clearInterval(watch);
      if (session?.socket === socket) session.socket = undefined;
    });
    send(socket, { op: 10, d: { heartbeat_interval: this.#settings.heartbeatMs } });
    socket.on('message', (data) => {
      const now = performance.now();
      sends.push(now);
      while ((sends[0] ?? now) < now - SEND_WINDOW_MS) sends.shift();
      const frame = readFrame(data);
      if (sends.length > MAX_SENDS) socket.close(4_008, 'You are being rate limited.');
      else if (frame === undefined) socket.close(4_002, 'Error while decoding payload.');
      else if (frame.op === 1) {
        lastBeat = now;
        this.counts.heartbeats += 1;
        if (!this.#unanswered.has(socket)) send(socket, { op: 11, d: null });
      } else if (frame.op === 2) {
        if (session === undefined) session = this.#identify(socket, frame.d);
        else socket.close(4_005, 'Already authenticated.');
      } else if (frame.op === 6) session = this.#resume(socket, frame.d) ?? session;
      else if (session === undefined) socket.close(4_003, 'Not authenticated.');
      else if (![3, 4, 8].includes(frame.op)) socket.close(4_001, 'Unknown opcode.');
    });
  }

  #identify(socket: WebSocket, d: unknown): Session | undefined {
    const parsed = Identify.safeParse(d);
    if (!parsed.success) {
      socket.close(4_002, 'Error while decoding payload.');
      return undefined;
    }
    this.counts.identifies += 1;
    const { token, intents } = parsed.data;
    const now = this.#settings.now();
    const spaced = now - this.#lastIdentify >= this.#settings.identifySpacingMs;
    this.#lastIdentify = now;
    if (token !== this.#settings.token) socket.close(4_004, 'Authentication failed.');
    else if ((intents & ~KNOWN_INTENTS) !== 0) socket.close(4_013, 'Invalid intent(s).');
    else if ((intents & INTENT.messageContent) !== 0 && !this.messageContentAllowed)
      socket.close(4_014, 'Disallowed intent(s).');
    else if (!spaced) send(socket, { op: 9, d: false });
    else {
      this.counts.startsLeft -= 1;
      const session: Session = { id: randomBytes(16).toString('hex'), intents, seq: 0, log: [], socket };
      this.#sessions.set(session.id, session);
      this.#push(session, 'READY', {
        ...this.#settings.ready(),
        session_id: session.id,
        resume_gateway_url: `${this.#settings.url()}/resume`,
      });
      return session;
    }
    return undefined;
  }

  #resume(socket: WebSocket, d: unknown): Session | undefined {
    const parsed = Resume.safeParse(d);
    if (!parsed.success || parsed.data.token !== this.#settings.token) {
      socket.close(parsed.success ? 4_004 : 4_002);
      return undefined;
    }
    const session = this.#sessions.get(parsed.data.session_id);
    const seq = parsed.data.seq ?? 0;
    if (session === undefined) {
      send(socket, { op: 9, d: false });
      return undefined;
    }
    if (seq > session.seq) {
      this.#sessions.delete(session.id);
      socket.close(4_007, 'Invalid seq.');
      return undefined;
    }
    this.counts.resumes += 1;
    session.socket = socket;
    for (const event of session.log.filter(({ s }) => s > seq)) send(socket, { op: 0, ...event });
    this.#push(session, 'RESUMED', { _trace: [] });
    return session;
  }

  #push(session: Session, t: string, d: object): void {
    session.seq += 1;
    const event = { s: session.seq, t, d };
    session.log.push(event);
    const { socket } = session;
    if (socket !== undefined && !this.#unanswered.has(socket)) send(socket, { op: 0, ...event });
  }
}

function send(socket: WebSocket, frame: object): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function readFrame(data: RawData): z.infer<typeof Frame> | undefined {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(new Uint8Array(data));
  if (bytes.length > MAX_PAYLOAD_BYTES) return undefined;
  try {
    return Frame.parse(JSON.parse(bytes.toString('utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}
