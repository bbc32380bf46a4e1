/** The fake Discord's gateway over a real WebSocket: hello, identify, heartbeats, dispatch, resume with replay, close codes. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type GatewaySettings,
  Identify,
  INTENT,
  readFrame,
  Resume,
  send,
  shardOf,
} from './gateway-frames.ts';

const KNOWN_INTENTS = (1 << 26) - 1;
const MAX_SENDS = 120;
const SEND_WINDOW_MS = 60_000;
/** Events that are kept for a session, and how long it is kept without a connection: then it cannot be resumed. */
const MAX_KEPT_EVENTS = 5_000;
const KEPT_MS = 5 * 60_000;
/** A session ends when the client closes it with one of these. */
const SESSION_ENDS = [1_000, 1_001];
/** The server closes a connection after this many missed heartbeats. */
const MISSED_BEATS = 2.5;

interface Session {
  id: string;
  /** Which of how many connections of the bot it is. */
  shard: readonly [id: number, count: number];
  intents: number;
  seq: number;
  log: { s: number; t: string; d: object }[];
  socket: WebSocket | undefined;
  /** When the connection ended. */
  leftAt: number;
}

/**
 * How the gateway fails: it closes at each identify, or after READY and forgets the session, or refuses every session
 * (op 9), or keeps offering to resume (op 9, resumable).
 */
export type GatewayFailure = 'close_at_identify' | 'cut_after_ready' | 'refuse_sessions' | 'invite_to_resume';

export class FakeGateway {
  /** The Developer Portal's switch "Message Content Intent". */
  messageContentAllowed = true;
  failure: GatewayFailure | undefined;
  /** More sessions were started in a day than Discord allows: the token is refused from now on. */
  tokenReset = false;
  /**
   * Connections that Discord asks for, accepting fewer only down to `shardsRequired`; and how many may identify at
   * once.
   */
  shards = 1;
  shardsRequired = 1;
  maxConcurrency = 1;
  /** Connections whose heartbeats are not answered, and to which nothing is dispatched. */
  readonly #unanswered = new WeakSet<WebSocket>();
  /** Connections that this side closes: their sessions can be resumed. */
  readonly #closedHere = new WeakSet<WebSocket>();
  readonly counts = {
    connections: 0,
    identifies: 0,
    resumes: 0,
    heartbeats: 0,
    invitations: 0,
    startsLeft: 1_000,
  };
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, Session>();
  readonly #settings: GatewaySettings;
  /** By the number of the group of shards that may not identify at the same time. */
  readonly #lastIdentify = new Map<number, number>();

  constructor(settings: GatewaySettings) {
    this.#settings = settings;
  }

  /** GATEWAY_MESSAGE_CONTENT_LIMITED, while the intent is switched on. */
  get applicationFlags(): number {
    return this.messageContentAllowed ? 1 << 19 : 0;
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
  dispatch(t: string, intent: number, shape: (intents: number) => object, guildId?: string): void {
    for (const session of this.#sessions.values()) {
      const [shard, count] = session.shard;
      // What belongs to no server arrives over the first shard.
      if (shard !== (guildId === undefined ? 0 : shardOf(guildId, count))) continue;
      if (intent !== 0 && (session.intents & intent) === 0) continue;
      this.#push(session, t, shape(session.intents));
    }
  }

  /** Closes every connection with a code, or that of one shard. */
  close(code: number, shard?: number): void {
    if (shard === undefined) for (const socket of this.#server.clients) this.#close(socket, code);
    for (const session of this.#sessions.values())
      if (session.shard[0] === shard && session.socket !== undefined) this.#close(session.socket, code);
  }

  /** The numbers of the shards that are connected. */
  get connected(): number[] {
    return [...this.#sessions.values()]
      .filter(({ socket }) => socket !== undefined)
      .map(({ shard }) => shard[0])
      .sort((one, other) => one - other);
  }

  #close(socket: WebSocket, code: number, reason = ''): void {
    this.#closedHere.add(socket);
    socket.close(code, reason);
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
      this.#close(socket, 4_012, 'Invalid API version.');
      return;
    }
    const sends: number[] = [];
    let session: Session | undefined;
    let lastBeat = performance.now();
    const watch = setInterval(() => {
      if (performance.now() - lastBeat > this.#settings.heartbeatMs * MISSED_BEATS)
        this.#close(socket, 4_009);
    }, this.#settings.heartbeatMs);
    socket.on('error', () => socket.terminate());
    socket.on('close', (code) => {
      clearInterval(watch);
      if (session?.socket !== socket) return;
      session.socket = undefined;
      session.leftAt = this.#settings.now();
      if (SESSION_ENDS.includes(code) && !this.#closedHere.has(socket)) this.#sessions.delete(session.id);
    });
    send(socket, { op: 10, d: { heartbeat_interval: this.#settings.heartbeatMs } });
    socket.on('message', (data) => {
      const now = performance.now();
      sends.push(now);
      while ((sends[0] ?? now) < now - SEND_WINDOW_MS) sends.shift();
      const frame = readFrame(data);
      if (sends.length > MAX_SENDS) this.#close(socket, 4_008, 'You are being rate limited.');
      else if (frame === undefined) this.#close(socket, 4_002, 'Error while decoding payload.');
      else if (frame.op === 1) {
        lastBeat = now;
        this.counts.heartbeats += 1;
        if (!this.#unanswered.has(socket)) send(socket, { op: 11, d: null });
      } else if (frame.op === 2) {
        if (session === undefined) session = this.#identify(socket, frame.d);
        else this.#close(socket, 4_005, 'Already authenticated.');
      } else if (frame.op === 6) session = this.#resume(socket, frame.d) ?? session;
      else if (session === undefined) this.#close(socket, 4_003, 'Not authenticated.');
      else if (![3, 4, 8].includes(frame.op)) this.#close(socket, 4_001, 'Unknown opcode.');
    });
  }

  #identify(socket: WebSocket, d: unknown): Session | undefined {
    const parsed = Identify.safeParse(d);
    if (!parsed.success) {
      this.#close(socket, 4_002, 'Error while decoding payload.');
      return undefined;
    }
    this.counts.identifies += 1;
    const { token, intents, shard } = parsed.data;
    const [shardId, shardCount] = shard;
    const now = this.#settings.now();
    const group = shardId % this.maxConcurrency;
    const spaced = now - (this.#lastIdentify.get(group) ?? -Infinity) >= this.#settings.identifySpacingMs;
    this.#lastIdentify.set(group, now);
    const known = token === this.#settings.token && !this.tokenReset;
    if (known) {
      this.tokenReset = this.counts.startsLeft === 0;
      this.counts.startsLeft -= 1;
    }
    if (!known || this.tokenReset) this.#close(socket, 4_004, 'Authentication failed.');
    else if ((intents & ~KNOWN_INTENTS) !== 0) this.#close(socket, 4_013, 'Invalid intent(s).');
    else if ((intents & INTENT.messageContent) !== 0 && !this.messageContentAllowed)
      this.#close(socket, 4_014, 'Disallowed intent(s).');
    else if (shardId >= shardCount) this.#close(socket, 4_010, 'Invalid shard.');
    else if (shardCount < this.shardsRequired) this.#close(socket, 4_011, 'Sharding required.');
    else if (this.failure === 'close_at_identify') this.#close(socket, 4_000, 'Unknown error.');
    else if (!spaced || this.failure === 'refuse_sessions') send(socket, { op: 9, d: false });
    else {
      const id = randomBytes(16).toString('hex');
      const session: Session = { id, shard, intents, seq: 0, log: [], socket, leftAt: now };
      this.#sessions.set(session.id, session);
      this.#push(session, 'READY', {
        ...this.#settings.ready(),
        shard,
        session_id: session.id,
        resume_gateway_url: `${this.#settings.url()}/resume`,
      });
      const guilds = (intents & INTENT.guilds) === 0 ? [] : this.#settings.guilds();
      for (const guild of guilds)
        if (shardOf(guild.id, shardCount) === shardId) this.#push(session, 'GUILD_CREATE', guild);
      if (this.failure === 'cut_after_ready') {
        this.#sessions.delete(id);
        // The READY is in flight.
        setImmediate(() => socket.terminate());
      }
      return session;
    }
    return undefined;
  }

  #resume(socket: WebSocket, d: unknown): Session | undefined {
    const parsed = Resume.safeParse(d);
    if (!parsed.success || parsed.data.token !== this.#settings.token) {
      this.#close(socket, parsed.success ? 4_004 : 4_002);
      return undefined;
    }
    if (this.failure === 'invite_to_resume') {
      this.counts.invitations += 1;
      send(socket, { op: 9, d: true });
      return undefined;
    }
    const seq = parsed.data.seq ?? 0;
    const session = this.#resumable(parsed.data.session_id, seq);
    if (session === undefined) {
      send(socket, { op: 9, d: false });
      return undefined;
    }
    if (seq > session.seq) {
      this.#sessions.delete(session.id);
      this.#close(socket, 4_007, 'Invalid seq.');
      return undefined;
    }
    this.counts.resumes += 1;
    // A session has one connection.
    if (session.socket !== undefined && session.socket !== socket) this.#close(session.socket, 4_000);
    session.socket = socket;
    for (const event of session.log.filter(({ s }) => s > seq)) send(socket, { op: 0, ...event });
    this.#push(session, 'RESUMED', { _trace: [] });
    return session;
  }

  /** The session, unless it was without a connection for too long, or events after `seq` are no longer kept. */
  #resumable(id: string, seq: number): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.socket !== undefined) return session;
    const tooLong = this.#settings.now() - session.leftAt > KEPT_MS;
    if (!tooLong && (session.log[0]?.s ?? 0) <= seq + 1) return session;
    this.#sessions.delete(id);
    return undefined;
  }

  #push(session: Session, t: string, d: object): void {
    session.seq += 1;
    const event = { s: session.seq, t, d };
    session.log.push(event);
    if (session.log.length > MAX_KEPT_EVENTS) session.log.shift();
    const { socket } = session;
    if (socket !== undefined && !this.#unanswered.has(socket)) send(socket, { op: 0, ...event });
  }
}
