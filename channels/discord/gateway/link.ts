/** The connection to Discord's gateway: resumes its session while Discord keeps it, and rarely starts new ones. */
import { GatewayCloseCodes, GatewayIntentBits } from 'discord.js';
import { z } from 'zod';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS, type Shard } from '../../../src/protocol/channel.ts';
import { type ChannelError, messageOf } from '../../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import type { DiscordTiming } from '../config.ts';
import { CONNECTING, fatalClose, NO_MESSAGE_CONTENT, refusedToken } from '../errors.ts';
import type { DiscordRest } from '../rest.ts';
import type { IdentifyBudget } from './identify-budget.ts';
import type { ResumeState, Self, StoredSession } from './resume-state.ts';
import { type BudgetKeys, budgetKeysOf, isTextAllowed, readGateway, sessionKeyOf } from './shard.ts';
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

const INVALID_SEQUENCE: number = GatewayCloseCodes.InvalidSeq;
const DISALLOWED_INTENTS: number = GatewayCloseCodes.DisallowedIntents;

const Ready = z.object({ user: z.object({ id: z.string() }), application: z.object({ id: z.string() }) });

/** What the gateway sends. `release` is called once nothing of it would be lost with this process. */
export interface GatewayEvents {
  /** Who the bot is; arrives before all messages. */
  self(self: Self): void;
  /** A session was started or resumed: events arrive from now on. */
  connected(self: Self): void;
  /** A session was started: messages since `heardAt` are not replayed. Undefined before the very first session. */
  missed(heardAt: number | undefined, release: () => void): void;
  /** Any other event, by its name. */
  event(dispatched: DispatchedEvent, release: () => void): void;
}

export interface GatewayParts {
  token: string;
  shard: Shard;
  rest: DiscordRest;
  budget: IdentifyBudget;
  resume: ResumeState;
  log: Log;
  timing: DiscordTiming;
  /** Asks Discord, once, which bot the token belongs to. Throws `ChannelError`. */
  botId: (signal: AbortSignal) => Promise<string>;
}

/** One connection, from `start` to `stop`. */
export class GatewayLink {
  readonly #parts: GatewayParts;
  readonly #events: GatewayEvents;
  readonly #stop = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  #health: ChannelHealth = { state: 'starting', detail: CONNECTING };
  #running: Promise<void> | undefined;
  /** Name of the connection in the store; undefined until its session has been read. */
  #key: string | undefined;
  #botId = '';
  #session: StoredSession | undefined;
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
    await this.#started.promise;
  }

  /** Ends the connection; its session can be resumed. Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#started.resolve();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { log } = this.#parts;
    const { pause, retryBaseMs } = this.#parts.timing;
    while (!signal.aborted) {
      const fatal = await this.#attempt(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'discord_connection_failed');
        this.#failures += 1;
        return refusedToken(error);
      });
      if (signal.aborted) return;
      if (fatal?.code === 'unauthorized') {
        await this.#onTokenRefused(fatal, signal);
        continue;
      }
      if (fatal !== undefined) {
        this.#health = { state: 'dead', detail: messageOf(fatal) };
        log.error({ err: fatal }, 'discord_connection_refused');
        this.#started.reject(fatal);
        return;
      }
      this.#degrade(textRef('health.broke', { network: 'Discord' }));
      if (this.#failures > 0) await pause(backoffMs(this.#failures - 1, retryBaseMs, RETRY_CAP_MS), signal);
    }
  }

  /** Waits until the channel may ask Discord about the token again: often at first, hourly once the channel is dead. */
  async #onTokenRefused(refusal: ChannelError, signal: AbortSignal): Promise<void> {
    const { monotonicMs, pause, retryBaseMs } = this.#parts.timing;
    this.#refusedSince ??= monotonicMs();
    const isDead = monotonicMs() - this.#refusedSince >= DEAD_AFTER_MS;
    this.#health = { state: isDead ? 'dead' : 'degraded', detail: messageOf(refusal) };
    this.#parts.log.error({ err: refusal }, 'discord_token_refused');
    const retryMs = backoffMs(this.#failures, retryBaseMs, RETRY_CAP_MS);
    await pause(isDead ? DEAD_INTERVAL_MS : retryMs, signal);
  }

  /** Makes one connection and follows it to its end; returns the reason if no other may follow. */
  async #attempt(signal: AbortSignal): Promise<ChannelError | undefined> {
    const key = await this.#load(signal);
    if (this.#limited && (await isTextAllowed(this.#parts.rest, signal))) this.#forgetSession();
    if (this.#resumeFailures >= MAX_RESUME_FAILURES) this.#forgetSession();
    const session = this.#session;
    const start =
      session === undefined
        ? await this.#whereToStart(key, signal)
        : { url: session.session.resumeURL, keys: this.#keys(1) };
    if (start === undefined || signal.aborted) return undefined;
    const end = await this.#connect(start.url, start.keys, signal);
    if (signal.aborted) return undefined;
    const isResumeRefused = this.#upSince === undefined && this.#session !== undefined;
    if (isResumeRefused && (await this.#isReachable(signal))) this.#resumeFailures += 1;
    return this.#afterEnd(end);
  }

  /** Reads the last process's session, once; returns its name in the store. */
  async #load(signal: AbortSignal): Promise<string> {
    if (this.#key !== undefined) return this.#key;
    this.#botId = await this.#parts.botId(signal);
    const key = sessionKeyOf(this.#botId, this.#parts.shard);
    const session = await this.#parts.resume.load(key);
    // A session that an earlier version has started lacks some of the events.
    this.#session = session?.intents === INTENTS ? session : undefined;
    this.#limited = this.#session?.limited ?? false;
    if (this.#session !== undefined) this.#events.self(this.#session.self);
    this.#key = key;
    return key;
  }

  #keys(maxConcurrency: number): BudgetKeys {
    return budgetKeysOf(this.#botId, this.#parts.shard, maxConcurrency);
  }

  /** Waits until a new session may start; returns its address, undefined after a used-up day. Throws `ChannelError`, `StoreError`. */
  async #whereToStart(
    key: string,
    signal: AbortSignal,
  ): Promise<{ url: string; keys: BudgetKeys } | undefined> {
    const { budget, rest, log } = this.#parts;
    const { epochNow, pause } = this.#parts.timing;
    const wait = await budget.waitMs(key);
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1_000);
      this.#degrade(textRef('health.sessions_short', { network: 'Discord', seconds }));
      await pause(wait, signal);
    }
    const { url, limit } = await readGateway(rest, signal);
    const keys = this.#keys(limit.max_concurrency);
    // The bot's other connections also start one after another.
    const spacing = await budget.groupWaitMs(keys);
    if (spacing > 0) await pause(spacing, signal);
    const exhausted = await budget.exhaustedMs(keys, limit);
    if (exhausted === undefined) return { url, keys };
    const { remaining, total } = limit;
    const until = new Date(epochNow() + exhausted).toISOString();
    log.error({ remaining, total, until }, 'discord_session_starts_exhausted');
    this.#degrade(textRef('health.sessions_used_up', { network: 'Discord', total, until }));
    await pause(exhausted, signal);
    return undefined;
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
    this.#session = undefined;
    this.#limited = false;
    this.#resumeFailures = 0;
  }

  async #connect(url: string, keys: BudgetKeys, signal: AbortSignal): Promise<SocketEnd> {
    const { token, shard, budget, resume, log, timing } = this.#parts;
    this.#upSince = undefined;
    const socket = new GatewaySocket({
      token,
      shard,
      url,
      intents: this.#limited ? INTENTS : INTENTS | GatewayIntentBits.MessageContent,
      session: this.#session?.session,
      mayIdentify: () => budget.count(keys),
      event: (event) => this.#dispatch(event, socket),
      alive: () => {
        if (this.#upSince !== undefined) resume.checkpoint.heard(timing.epochNow());
      },
      log,
      closeMs: timing.closeMs,
    });
    const stopped = (): void => void socket.close();
    signal.addEventListener('abort', stopped, { once: true });
    const end = await socket.open();
    signal.removeEventListener('abort', stopped);
    if (end.sessionLost || end.code === INVALID_SEQUENCE) this.#session = undefined;
    else if (this.#session !== undefined && socket.session !== undefined)
      this.#session = { ...this.#session, session: socket.session };
    return end;
  }

  #dispatch(event: DispatchedEvent, socket: GatewaySocket): void {
    const { resume, timing } = this.#parts;
    const { name, sequence } = event;
    if (name === 'READY') {
      this.#onReady(event, socket);
      return;
    }
    const release = resume.checkpoint.arrive(sequence);
    this.#events.event(event, release);
    if (name === 'RESUMED' && this.#session !== undefined) this.#up(this.#session.self);
    if (this.#upSince !== undefined) resume.checkpoint.heard(timing.epochNow());
  }

  #onReady({ data, sequence }: DispatchedEvent, { session }: GatewaySocket): void {
    const ready = Ready.safeParse(data);
    if (!ready.success || session === undefined) {
      this.#parts.log.error({ err: ready.error }, 'discord_ready_malformed');
      return;
    }
    const { resume, timing } = this.#parts;
    const self = { botId: ready.data.user.id, applicationId: ready.data.application.id };
    const { heardAt } = resume.checkpoint.position;
    this.#session = { session, self, limited: this.#limited, intents: INTENTS };
    const release = resume.begin(this.#session, sequence);
    resume.checkpoint.heard(timing.epochNow());
    this.#events.self(self);
    this.#up(self);
    this.#events.missed(heardAt, release);
  }

  #up(self: Self): void {
    this.#upSince = this.#parts.timing.monotonicMs();
    this.#resumeFailures = 0;
    this.#refusedSince = undefined;
    this.#health = this.#limited ? { state: 'degraded', detail: NO_MESSAGE_CONTENT } : { state: 'up' };
    this.#events.connected(self);
    this.#started.resolve();
  }

  /** Counts a connection that ended early; returns the reason if no other may follow. */
  #afterEnd({ code }: SocketEnd): ChannelError | undefined {
    const { timing, log } = this.#parts;
    const lived = this.#upSince === undefined ? undefined : timing.monotonicMs() - this.#upSince;
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
