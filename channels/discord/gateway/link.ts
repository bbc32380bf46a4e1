/** The connection to Discord's gateway: resumes its session while Discord keeps it, and rarely starts new ones. */
import { textRef } from '../../../src/protocol/texts/say.ts';
import { messageOf, type ChannelError } from '../../../src/protocol/errors.ts';
import { GatewayIntentBits } from 'discord-api-types/v10';
import { z } from 'zod';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS, type Shard } from '../../../src/protocol/channel.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { CONNECTING, fatalClose, fatalError, NO_MESSAGE_CONTENT } from '../errors.ts';
import { isTextAllowed, readGateway } from './address.ts';
import { whereToBegin } from './begin.ts';
import type { BudgetKeys, IdentifyBudget } from './identify-budget.ts';
import { countersOf, sessionKeyOf } from './shard.ts';
import type { DiscordRest } from '../rest/rest.ts';
import type { KeptSession, Self, ResumeState } from './resume-state.ts';
import { type DispatchedEvent, GatewaySocket, type SocketEnd } from './socket.ts';

/** Longest wait between two connections, in milliseconds; new sessions wait longer, according to their budget. */
const RETRY_CAP_MS = 30_000;
/** A connection that lived this long was healthy: the next one is made at once. */
const SOUND_CONNECTION_MS = 30_000;
/** Failures to resume one session before a new one is started; they count only while Discord can be reached. */
const MAX_RESUME_FAILURES = 5;

/** Messages everywhere, reactions to them, and servers for their threads: messages there do not name the parent channel. */
const INTENTS =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.GuildMessageReactions |
  GatewayIntentBits.DirectMessageReactions;

/** Close codes: the session cannot be resumed from this sequence; an intent is not enabled for the bot. */
const INVALID_SEQUENCE = 4_007;
const DISALLOWED_INTENTS = 4_014;

const Ready = z.object({ user: z.object({ id: z.string() }), application: z.object({ id: z.string() }) });

/** What the gateway sends. `stored` is called once nothing of it would be lost with this process. */
export interface GatewayEvents {
  /** Who the bot is; arrives before all messages. */
  self(self: Self): void;
  /** A session was started or resumed: events arrive from now on. */
  connected(self: Self): void;
  /** A session was started: messages since `heardAt` are not replayed. Undefined before the very first session. */
  missed(heardAt: number | undefined, stored: () => void): void;
  /** Any other event, by its name. */
  event(dispatched: DispatchedEvent, stored: () => void): void;
}

export interface GatewaySettings {
  token: string;
  /** Asks Discord, once, which bot the token belongs to. Throws `ChannelError`. */
  botId: (signal: AbortSignal) => Promise<string>;
  budget: IdentifyBudget;
  epochNow: () => number;
  monotonicMs: () => number;
  /** Waits this many milliseconds, or until the signal aborts. Never rejects. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  retryBaseMs: number;
  /** Longest wait for a connection to close; then it is broken. */
  closeMs: number;
}

export interface GatewayParts extends GatewaySettings {
  shard: Shard;
  resume: ResumeState;
  rest: DiscordRest;
  log: Log;
}

/** One connection, from `start` to `stop`. */
export class GatewayLink {
  readonly #parts: GatewayParts;
  readonly #events: GatewayEvents;
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  #health: ChannelHealth = { state: 'starting', detail: CONNECTING };
  #running: Promise<void> | undefined;
  /** Name of the connection in the store; undefined until its session has been read. */
  #key: string | undefined;
  #botId = '';
  #kept: KeptSession | undefined;
  /** Without the privileged intent, because Discord refused it. */
  #limited = false;
  /** When events started to arrive over the current socket. */
  #upSince: number | undefined;
  #failures = 0;
  /** When Discord started to refuse the token. */
  #refusedSince: number | undefined;
  #resumeFailures = 0;

  constructor(parts: GatewayParts, events: GatewayEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  get health(): ChannelHealth {
    return this.#health;
  }

  /** True while Discord omits the texts of messages that do not name the bot. */
  get limited(): boolean {
    return this.#limited;
  }

  /** Resolves once events arrive, or at `stop`. Throws `ChannelError` if Discord permanently refuses more than the token. */
  async start(): Promise<void> {
    this.#running ??= this.#run();
    await this.#begun.promise;
  }

  /** Ends the connection; its session can be resumed. Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#begun.resolve();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { log, pause, retryBaseMs } = this.#parts;
    while (!signal.aborted) {
      const fatal = await this.#attempt(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'discord_connection_failed');
        this.#failures += 1;
        return fatalError(error);
      });
      if (signal.aborted) return;
      if (fatal?.code === 'unauthorized') {
        await this.#onTokenRefused(fatal, signal);
        continue;
      }
      if (fatal !== undefined) {
        this.#health = { state: 'dead', detail: messageOf(fatal) };
        log.error({ err: fatal }, 'discord_connection_refused');
        this.#begun.reject(fatal);
        return;
      }
      this.#degrade(textRef('health.broke', { network: 'Discord' }));
      if (this.#failures > 0) await pause(backoffMs(this.#failures - 1, retryBaseMs, RETRY_CAP_MS), signal);
    }
  }

  /** Waits until the channel may ask Discord about the token again: often at first, hourly once the channel is dead. */
  async #onTokenRefused(refusal: ChannelError, signal: AbortSignal): Promise<void> {
    const { monotonicMs, pause, log, retryBaseMs } = this.#parts;
    this.#refusedSince ??= monotonicMs();
    const isDead = monotonicMs() - this.#refusedSince >= DEAD_AFTER_MS;
    this.#health = { state: isDead ? 'dead' : 'degraded', detail: messageOf(refusal) };
    log.error({ err: refusal }, 'discord_token_refused');
    const soon = backoffMs(this.#failures, retryBaseMs, RETRY_CAP_MS);
    await pause(isDead ? DEAD_INTERVAL_MS : soon, signal);
  }

  /** Makes one connection and follows it to its end; returns the reason if no other may follow. */
  async #attempt(signal: AbortSignal): Promise<ChannelError | undefined> {
    const key = await this.#load(signal);
    if (this.#limited && (await isTextAllowed(this.#parts.rest, signal))) this.#forgetSession();
    if (this.#resumeFailures >= MAX_RESUME_FAILURES) this.#forgetSession();
    const begin =
      this.#kept === undefined
        ? await whereToBegin(
            (groups) => this.#keys(key, groups),
            { ...this.#parts, say: (detail) => this.#degrade(detail) },
            signal,
          )
        : { url: this.#kept.session.resumeURL, keys: this.#keys(key, 1) };
    if (begin === undefined || signal.aborted) return undefined;
    const end = await this.#connect(begin, signal);
    if (signal.aborted) return undefined;
    const isResumeRefused = this.#upSince === undefined && this.#kept !== undefined;
    if (isResumeRefused && (await this.#isReachable(signal))) this.#resumeFailures += 1;
    return this.#afterEnd(end);
  }

  /** Reads the last process's session, once; returns its name in the store. */
  async #load(signal: AbortSignal): Promise<string> {
    if (this.#key !== undefined) return this.#key;
    this.#botId = await this.#parts.botId(signal);
    const key = sessionKeyOf(this.#botId, this.#parts.shard);
    const kept = await this.#parts.resume.load(key);
    // A session that an earlier version has started lacks some of the events.
    this.#kept = kept?.intents === INTENTS ? kept : undefined;
    this.#limited = this.#kept?.limited ?? false;
    if (this.#kept !== undefined) this.#events.self(this.#kept.self);
    this.#key = key;
    return key;
  }

  #keys(session: string, maxConcurrency: number): BudgetKeys {
    return { session, ...countersOf(this.#botId, this.#parts.shard, maxConcurrency) };
  }

  async #isReachable(signal: AbortSignal): Promise<boolean> {
    try {
      await readGateway(this.#parts.rest, signal);
      return true;
    } catch (error) {
      if (!signal.aborted) this.#parts.log.debug({ err: error }, 'discord_unreachable');
      return false;
    }
  }

  #forgetSession(): void {
    this.#kept = undefined;
    this.#limited = false;
    this.#resumeFailures = 0;
  }

  async #connect({ url, keys }: { url: string; keys: BudgetKeys }, signal: AbortSignal): Promise<SocketEnd> {
    const { token, shard, budget, resume, log, closeMs, epochNow } = this.#parts;
    this.#upSince = undefined;
    const resumed = this.#kept;
    const socket = new GatewaySocket({
      token,
      shard,
      url,
      intents: this.#limited ? INTENTS : INTENTS | GatewayIntentBits.MessageContent,
      session: resumed?.session,
      mayIdentify: () => budget.count(keys),
      event: (event) => this.#dispatch(event, socket),
      alive: () => {
        if (this.#upSince !== undefined) resume.heard(epochNow());
      },
      log,
      closeMs,
    });
    const stopped = (): void => void socket.close();
    signal.addEventListener('abort', stopped, { once: true });
    const end = await socket.open();
    signal.removeEventListener('abort', stopped);
    if (end.sessionLost || end.code === INVALID_SEQUENCE) this.#kept = undefined;
    else if (this.#kept !== undefined && socket.session !== undefined)
      this.#kept = { ...this.#kept, session: socket.session };
    return end;
  }

  #dispatch(event: DispatchedEvent, socket: GatewaySocket): void {
    const { resume, epochNow } = this.#parts;
    const { name, sequence } = event;
    if (name === 'READY') {
      this.#onReady(event, socket);
      return;
    }
    const stored = resume.arrive(sequence);
    this.#events.event(event, stored);
    if (name === 'RESUMED' && this.#kept !== undefined) this.#up(this.#kept.self);
    if (this.#upSince !== undefined) resume.heard(epochNow());
  }

  #onReady({ data, sequence }: DispatchedEvent, { session }: GatewaySocket): void {
    const ready = Ready.safeParse(data);
    if (!ready.success || session === undefined) {
      this.#parts.log.error({ err: ready.error }, 'discord_ready_malformed');
      return;
    }
    const { resume, epochNow } = this.#parts;
    const self = { botId: ready.data.user.id, applicationId: ready.data.application.id };
    const { heardAt } = resume;
    this.#kept = { session, self, limited: this.#limited, intents: INTENTS };
    const stored = resume.begin(this.#kept, sequence);
    resume.heard(epochNow());
    this.#events.self(self);
    this.#up(self);
    this.#events.missed(heardAt, stored);
  }

  #up(self: Self): void {
    this.#upSince = this.#parts.monotonicMs();
    this.#resumeFailures = 0;
    this.#refusedSince = undefined;
    this.#health = this.#limited ? { state: 'degraded', detail: NO_MESSAGE_CONTENT } : { state: 'up' };
    this.#events.connected(self);
    this.#begun.resolve();
  }

  /** Counts a connection that ended early; returns the reason if no other may follow. */
  #afterEnd({ code }: SocketEnd): ChannelError | undefined {
    const { monotonicMs, log } = this.#parts;
    const lived = this.#upSince === undefined ? undefined : monotonicMs() - this.#upSince;
    log.debug({ code, lived }, 'discord_connection_ended');
    this.#failures = lived !== undefined && lived >= SOUND_CONNECTION_MS ? 0 : this.#failures + 1;
    if (code !== DISALLOWED_INTENTS || this.#limited) return fatalClose(code);
    this.#forgetSession();
    this.#limited = true;
    log.error({ code }, 'discord_message_content_refused');
    return undefined;
  }

  #degrade(detail: ChannelHealth['detail']): void {
    if (this.#refusedSince !== undefined) return;
    this.#health = { state: this.#health.state === 'starting' ? 'starting' : 'degraded', detail };
  }
}
