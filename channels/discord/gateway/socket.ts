/** One socket to Discord's gateway, from its opening to its close: discord.js implements the protocol, but never reconnects. */
import { setImmediate as immediate } from 'node:timers/promises';
import {
  DefaultWebSocketManagerOptions,
  type IContextFetchingStrategy,
  type SessionInfo,
  WebSocketShard,
  type WebSocketShardDestroyOptions,
  WebSocketShardEvents,
} from '@discordjs/ws';
import { GatewayOpcodes } from 'discord-api-types/v10';
import type { Shard } from '../../../src/protocol/channel.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import { breakSocket, checkShard } from './private-fields.ts';

/** Closes a socket and keeps its session: 1000 and 1001 would end the session at Discord. */
const KEEP_SESSION = 4_200;
/** A gateway event; `sequence` counts the events of a session. */
export interface DispatchedEvent {
  name: string;
  sequence: number;
  data: unknown;
}

export interface SocketEnd {
  code: number;
  /** Discord has forgotten the session (op 9, not resumable). */
  sessionLost: boolean;
}

/** What resuming a session needs. */
export type ResumableSession = Pick<SessionInfo, 'sessionId' | 'resumeURL' | 'sequence'>;

export interface SocketOptions {
  token: string;
  shard: Shard;
  /** Where sessions start; a resumed session has a different address. */
  url: string;
  intents: number;
  session: ResumableSession | undefined;
  /** Called just before an identify is sent; if it returns false, none is sent. */
  mayIdentify(): Promise<boolean>;
  event(event: DispatchedEvent): void;
  /** Discord has answered a heartbeat: everything it dispatched before has arrived. */
  alive(): void;
  log: Log;
  /** Longest wait for the other side to close, in milliseconds; then the socket is broken. */
  closeMs: number;
}

export class GatewaySocket {
  readonly #options: SocketOptions;
  readonly #shard: Connection;
  readonly #ended = Promise.withResolvers<SocketEnd>();
  #session: SessionInfo | undefined;
  #sessionLost = false;
  #over = false;
  #closing = false;

  /** Throws `PrivateFieldError` with another version of @discordjs/ws. */
  constructor(options: SocketOptions) {
    this.#options = options;
    const { id: shardId, count: shardCount } = options.shard;
    this.#session = options.session && { ...options.session, shardId, shardCount };
    this.#shard = new Connection(this.#context(), shardId, {
      repeatedResume: () => void this.close(),
      breakAfterMs: options.closeMs,
      log: options.log,
    });
    checkShard(this.#shard);
  }

  /** The session with the newest event that arrived. */
  get session(): ResumableSession | undefined {
    return this.#session;
  }

  /** Connects; resolves when the socket has closed, for any reason. Never throws. */
  async open(): Promise<SocketEnd> {
    const { log } = this.#options;
    this.#shard.on(WebSocketShardEvents.Closed, ({ code }) => {
      this.#finish(code);
    });
    this.#shard.on(WebSocketShardEvents.Error, ({ error }) => {
      log.warn({ err: error }, 'discord_socket_error');
    });
    this.#shard.on(WebSocketShardEvents.HeartbeatComplete, () => {
      if (!this.#over) this.#options.alive();
    });
    this.#shard.on(WebSocketShardEvents.Dispatch, ({ data }) => {
      if (!this.#over) this.#options.event({ name: data.t, sequence: data.s, data: data.d });
    });
    // Rejects with the error that the event above has logged.
    this.#shard.connect().catch(() => undefined);
    return await this.#ended.promise;
  }

  /** Closes the socket so that its session can be resumed. Never throws. */
  async close(): Promise<void> {
    if (this.#over || this.#closing) return;
    this.#closing = true;
    // A shard that is about to open its socket opens it now, and does not escape the close.
    await immediate();
    const limit = new AbortController();
    void this.#shard.destroy({ code: KEEP_SESSION });
    if (this.#shard.isOpen)
      await Promise.race([this.#ended.promise, pause(this.#options.closeMs, limit.signal)]);
    limit.abort();
    this.#shard.break();
    this.#finish(KEEP_SESSION);
  }

  #finish(code: number): void {
    this.#over = true;
    this.#ended.resolve({ code, sessionLost: this.#sessionLost });
  }

  /** What the shard requests. It asks for the session before it reconnects: here, that answer never arrives. */
  #context(): IContextFetchingStrategy {
    const { token, intents, url, shard } = this.#options;
    const session_start_limit = { total: 0, remaining: 0, reset_after: 0, max_concurrency: 1 };
    return {
      options: {
        ...DefaultWebSocketManagerOptions,
        token,
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the library types a sum of bits as a single bit
        intents,
        shardCount: shard.count,
        gatewayInformation: { url, shards: shard.count, session_start_limit },
      },
      retrieveSessionInfo: async () =>
        this.#over || this.#closing ? await never() : (this.#session ?? null),
      updateSessionInfo: (_shardId, session) => {
        if (session !== null) this.#session = session;
        // While the socket is open and this side does not close it, only op 9 makes the shard forget a
        // session it has used.
        else if (!this.#over && !this.#closing && this.#shard.hasSession) this.#sessionLost = true;
      },
      waitForIdentify: async () => {
        const may = await this.#options.mayIdentify().catch((error: unknown) => {
          this.#options.log.warn({ err: error }, 'discord_identify_not_counted');
          return false;
        });
        if (may) return;
        void this.close();
        await never();
      },
    };
  }
}

interface ConnectionOptions {
  /** Discord has asked to resume, a second time. */
  repeatedResume(): void;
  breakAfterMs: number;
  log: Log;
}

class Connection extends WebSocketShard {
  readonly #options: ConnectionOptions;
  #resumes = 0;
  #identified = false;
  #open = false;
  #destroyed = false;

  constructor(context: IContextFetchingStrategy, shardId: number, options: ConnectionOptions) {
    super(context, shardId);
    this.#options = options;
    this.on(WebSocketShardEvents.Hello, () => {
      this.#open = true;
    });
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** A session was resumed or started over this socket. */
  get hasSession(): boolean {
    return this.#resumes > 0 || this.#identified;
  }

  /** When told to resume (op 9), a shard resumes at once, endlessly: a second time uses a new socket, after a wait. */
  override async send(payload: Parameters<WebSocketShard['send']>[0]): Promise<void> {
    if (payload.op === GatewayOpcodes.Identify) this.#identified = true;
    if (payload.op === GatewayOpcodes.Resume) {
      this.#resumes += 1;
      if (this.#resumes > 1) {
        this.#options.repeatedResume();
        return;
      }
    }
    await super.send(payload);
  }

  /**
   * Does what the shard does, once: the shard mistakes the end of its own wait for READY for a failure and destroys
   * itself a second time, which then misses the close. Breaks a socket whose other side is gone after a while.
   */
  override async destroy(options?: WebSocketShardDestroyOptions): Promise<void> {
    if (this.#destroyed) return;
    this.#destroyed = true;
    const late = setTimeout(() => this.break(), this.#options.breakAfterMs);
    try {
      await super.destroy(options);
    } finally {
      clearTimeout(late);
    }
  }

  /** Breaks the socket. Never throws. */
  break(): void {
    try {
      breakSocket(this);
    } catch (error) {
      this.#options.log.error({ err: error }, 'discord_socket_left_open');
    }
  }
}

/** Waits forever, and holds nothing: whatever awaits it can be freed along with it. */
async function never(): Promise<never> {
  return await new Promise<never>(() => undefined);
}
