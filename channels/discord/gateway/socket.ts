/** One socket to Discord's gateway, from its opening to its close: discord.js implements the protocol, but never reconnects. */
import { setImmediate as immediate } from 'node:timers/promises';
import {
  CloseCodes,
  DefaultWebSocketManagerOptions,
  type IContextFetchingStrategy,
  type SessionInfo,
  WebSocketShard,
  type WebSocketShardDestroyOptions,
  WebSocketShardEvents,
} from '@discordjs/ws';
import { GatewayOpcodes } from 'discord.js';
import type { Log } from '../../../src/protocol/log.ts';
import type { Shard } from '../../../src/protocol/channel.ts';
import { waitAtMost } from '../../../src/lib/async/sleep.ts';

/** Closes a socket and keeps its session: 1000 and 1001 would end the session at Discord. */
const KEEP_SESSION = CloseCodes.Resuming;

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
export interface ResumableSession {
  sessionId: string;
  resumeURL: string;
  sequence: number;
}

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
  readonly #end = Promise.withResolvers<SocketEnd>();
  #session: SessionInfo | undefined;
  #sessionLost = false;
  #over = false;
  #closing = false;

  constructor(options: SocketOptions) {
    this.#options = options;
    const { id: shardId, count: shardCount } = options.shard;
    this.#session = options.session && { ...options.session, shardId, shardCount };
    this.#shard = new Connection(
      this.#context(),
      shardId,
      options.closeMs,
      () => void this.close(),
      (code) => this.#finish(code),
    );
  }

  /** The session with the newest event that arrived. */
  get session(): ResumableSession | undefined {
    return this.#session;
  }

  /** Connects; resolves when the socket has closed, for any reason. Never throws. */
  async open(): Promise<SocketEnd> {
    const warn = (err: Error): void => this.#options.log.warn({ err }, 'discord_socket_error');
    this.#shard.on(WebSocketShardEvents.Closed, (code) => this.#finish(code));
    this.#shard.on(WebSocketShardEvents.Error, warn);
    this.#shard.on(WebSocketShardEvents.SocketError, warn);
    this.#shard.on(WebSocketShardEvents.HeartbeatComplete, () => {
      if (!this.#over) this.#options.alive();
    });
    this.#shard.on(WebSocketShardEvents.Dispatch, ({ t: name, s: sequence, d: data }) => {
      if (!this.#over) this.#options.event({ name, sequence, data });
    });
    // Rejects with the error that the event above has logged.
    this.#shard.connect().catch(() => undefined);
    return await this.#end.promise;
  }

  /** Closes the socket so that its session can be resumed. Never throws. */
  async close(): Promise<void> {
    if (this.#over || this.#closing) return;
    this.#closing = true;
    void this.#shard.close(KEEP_SESSION);
    await waitAtMost(this.#options.closeMs, this.#end.promise);
    this.#finish(KEEP_SESSION);
  }

  #finish(code: number): void {
    this.#over = true;
    this.#end.resolve({ code, sessionLost: this.#sessionLost });
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
        if (this.#over || this.#closing) await never();
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

class Connection extends WebSocketShard {
  readonly #closeMs: number;
  readonly #onRepeatedResume: () => void;
  readonly #onUnanswered: (code: number) => void;
  readonly #hello = Promise.withResolvers<void>();
  #resumes = 0;
  #identified = false;
  #closing = false;
  #destroyed = false;

  /** `onRepeatedResume`: Discord has asked to resume again. `onUnanswered`: a close went unanswered for `closeMs`. */
  constructor(
    context: IContextFetchingStrategy,
    shardId: number,
    closeMs: number,
    onRepeatedResume: () => void,
    onUnanswered: (code: number) => void,
  ) {
    super(context, shardId);
    this.#closeMs = closeMs;
    this.#onRepeatedResume = onRepeatedResume;
    this.#onUnanswered = onUnanswered;
    this.on(WebSocketShardEvents.Hello, () => this.#hello.resolve());
  }

  /** A session was resumed or started over this socket. */
  get hasSession(): boolean {
    return this.#resumes > 0 || this.#identified;
  }

  /** Closes the socket after its HELLO: while it is still connecting, a shard does not close it. */
  async close(code: number): Promise<void> {
    this.#closing = true;
    await this.#hello.promise;
    // The shard starts its heartbeat only after it has announced the HELLO, and ends it only after that.
    await immediate();
    await this.destroy({ code });
  }

  /** When told to resume (op 9), a shard resumes at once, endlessly: a second time uses a new socket, after a wait. */
  override async send(payload: Parameters<WebSocketShard['send']>[0]): Promise<void> {
    if (this.#closing) return;
    if (payload.op === GatewayOpcodes.Identify) this.#identified = true;
    if (payload.op === GatewayOpcodes.Resume) {
      this.#resumes += 1;
      if (this.#resumes > 1) {
        this.#onRepeatedResume();
        return;
      }
    }
    await super.send(payload);
  }

  /**
   * Does what the shard does, once: the shard mistakes the end of its own wait for READY for a failure and destroys
   * itself a second time, which then misses the close. A close that the other side does not answer is left to the
   * socket, which breaks after 30 seconds.
   */
  override async destroy(options: WebSocketShardDestroyOptions = {}): Promise<void> {
    if (this.#destroyed) return;
    this.#destroyed = true;
    const late = setTimeout(() => this.#onUnanswered(options.code ?? KEEP_SESSION), this.#closeMs);
    try {
      await super.destroy(options);
    } finally {
      clearTimeout(late);
    }
  }
}

/** Waits forever, and holds nothing: whatever awaits it can be freed along with it. */
async function never(): Promise<never> {
  return await new Promise<never>(() => undefined);
}
