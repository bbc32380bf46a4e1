/** The connection to Discord's gateway: kept up by discord.js, replaced when that gives up, closed for good by fatal codes. */
import { Client, Events, GatewayDispatchEvents, GatewayIntentBits } from 'discord.js';
import { z } from 'zod';
import type { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { backoffMs } from '../../src/lib/backoff.ts';
import { pause } from '../../src/lib/sleep.ts';
import type { Log } from '../../src/contracts/log.ts';
import { fatalClose, fatalLogin } from './errors.ts';
import { ignorePackets } from './private-fields.ts';
import { StoppableStrategy } from './strategy.ts';
import type { IdentifyThrottle } from './strategy.ts';

/** Reconnects in a row without success before a fresh client takes over: an endless resume loop ends here. */
const MAX_RECONNECTS = 5;
/** Waits between fresh clients. The cap keeps a day's identifies under Discord's limit of about 1,000. */
const RETRY_CAP_MS = 120_000;

/**
 * Messages in servers and in private, with their text. Without the Guilds intent Discord sends no servers, channels or
 * members, so nothing piles up in memory; every event we need names its ids itself.
 */
const INTENTS = [
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.MessageContent,
];

const Ready = z.object({ user: z.object({ id: z.string() }), application: z.object({ id: z.string() }) });

export interface GatewayEvents {
  /** A new session began: what happened since the last one is not replayed. */
  ready(self: { botId: string; applicationId: string }): void;
  message(event: unknown): void;
  interaction(event: unknown): void;
}

export interface GatewaySettings {
  token: string;
  apiRoot: string;
  log: Log;
  /** Shared by all connections made one after another: Discord counts identifies, not starts. */
  throttle: IdentifyThrottle;
  retryBaseMs: number;
  /** Longest wait for a connection to close; then it is broken. */
  closeMs: number;
}

/** One connection, from `start` to `stop`. */
export class GatewayLink {
  readonly #settings: GatewaySettings;
  readonly #events: GatewayEvents;
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  #health: ChannelHealth = { state: 'starting', detail: 'Connecting to Discord.' };
  #running: Promise<void> | undefined;
  #failures = 0;

  constructor(settings: GatewaySettings, events: GatewayEvents) {
    this.#settings = settings;
    this.#events = events;
  }

  get health(): ChannelHealth {
    return this.#health;
  }

  /** Resolves with the first READY, or at `stop`. Throws `ChannelError` when Discord refuses for good. */
  async start(): Promise<void> {
    this.#running ??= this.#run();
    await this.#begun.promise;
  }

  /** Ends the connection. Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#begun.resolve();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const fatal = await this.#session(signal);
      if (fatal !== undefined) {
        this.#health = { state: 'dead', detail: fatal.message };
        this.#settings.log.error({ err: fatal }, 'discord_connection_refused');
        this.#begun.reject(fatal);
        return;
      }
      if (signal.aborted) return;
      this.#degrade('Discord cannot be reached; trying again.');
      const wait = backoffMs(this.#failures, this.#settings.retryBaseMs, RETRY_CAP_MS);
      this.#failures += 1;
      await pause(wait, signal);
    }
  }

  /** Runs one client to its end; gives the reason why no further one may follow, or undefined to try again. */
  async #session(signal: AbortSignal): Promise<ChannelError | undefined> {
    const { token, log } = this.#settings;
    const { promise: ended, resolve: end } = Promise.withResolvers<ChannelError | undefined>();
    const strategies: StoppableStrategy[] = [];
    const client = this.#client(strategies);
    let reconnects = 0;
    const up = (): void => {
      reconnects = 0;
      this.#failures = 0;
      this.#health = { state: 'up' };
    };

    client.on(Events.ShardDisconnect, ({ code }) => {
      end(fatalClose(code));
    });
    client.on(Events.ShardReconnecting, () => {
      this.#degrade('The connection to Discord broke; reconnecting.');
      reconnects += 1;
      if (reconnects > MAX_RECONNECTS) end(undefined);
    });
    client.on(Events.ShardError, (error) => {
      log.warn({ err: error }, 'discord_shard_error');
    });
    client.on(Events.Error, (error) => {
      log.error({ err: error }, 'discord_client_error');
    });
    client.on(Events.Warn, (text) => {
      log.warn({ text }, 'discord_client_warning');
    });
    client.ws.on(GatewayDispatchEvents.Resumed, up);
    client.ws.on(GatewayDispatchEvents.Ready, (event: unknown) => {
      const self = Ready.safeParse(event);
      if (!self.success) {
        log.error({ err: self.error }, 'discord_ready_malformed');
        return;
      }
      up();
      this.#events.ready({ botId: self.data.user.id, applicationId: self.data.application.id });
      this.#begun.resolve();
    });
    // Raw events arrive as they were sent and in order, whether discord.js knows the channel or not.
    client.ws.on(GatewayDispatchEvents.MessageCreate, (event: unknown) => {
      this.#events.message(event);
    });
    client.ws.on(GatewayDispatchEvents.InteractionCreate, (event: unknown) => {
      this.#events.interaction(event);
    });

    const stopped = (): void => {
      end(undefined);
    };
    signal.addEventListener('abort', stopped, { once: true });
    login(client, token).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ err: error }, 'discord_login_failed');
      end(fatalLogin(error));
    });
    const reason = await ended;
    signal.removeEventListener('abort', stopped);
    await this.#end(client, strategies);
    return reason;
  }

  /** A client without caches: events are read raw, and everything is sent by REST without it. */
  #client(strategies: StoppableStrategy[]): Client {
    return new Client({
      intents: INTENTS,
      rest: { api: this.#settings.apiRoot, retries: 0 },
      ws: {
        buildIdentifyThrottler: () => this.#settings.throttle,
        buildStrategy: (manager) => {
          const strategy = new StoppableStrategy(manager);
          strategies.push(strategy);
          return strategy;
        },
      },
    });
  }

  async #end(client: Client, strategies: StoppableStrategy[]): Promise<void> {
    const limit = new AbortController();
    const late = pause(this.#settings.closeMs, limit.signal);
    const closed = client.destroy().catch((error: unknown) => {
      this.#settings.log.warn({ err: error }, 'discord_close_failed');
    });
    await Promise.race([closed, late]);
    limit.abort();
    try {
      for (const strategy of strategies) strategy.terminate();
    } catch (error) {
      this.#settings.log.error({ err: error }, 'discord_socket_left_open');
    }
  }

  #degrade(detail: string): void {
    if (this.#health.state === 'dead') return;
    this.#health = { state: this.#health.state === 'starting' ? 'starting' : 'degraded', detail };
  }
}

async function login(client: Client, token: string): Promise<void> {
  ignorePackets(client);
  await client.login(token);
}
