/** Keeps a Socket Mode connection open; Slack renews it every few hours, and the next is open before the old one closes. */
import { textRef } from '../../src/protocol/texts/say.ts';
import { z } from 'zod';
import { ChannelError, toGatewayError, channelUnavailable, messageOf } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { Log } from '../../src/protocol/log.ts';
import { backoffMs } from '../../src/lib/async/backoff.ts';
import { pause } from '../../src/lib/async/sleep.ts';
import { BAD_APP_TOKEN } from './errors.ts';
import type { SlackApi, SlackTiming } from './web-api.ts';
import { type RawData, WebSocket } from 'ws';
import { parseJson } from '../../src/lib/json/json.ts';

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
type Ending = 'warning' | 'refresh_requested' | 'link_disabled' | 'closed';

interface SocketListener {
  envelope: (envelope: Envelope) => void;
  /** Called once, at the first sign of the end: the connection may deliver envelopes for a while longer. */
  ending: (reason: Ending) => void;
}

class Socket {
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
    const closing = Promise.withResolvers<void>();
    this.closed = closing.promise;
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
      closing.resolve();
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

/** Longest wait before a new attempt to connect, in milliseconds. */
const RETRY_CAP_MS = 30_000;
/** Shorter connections, in milliseconds, are reopened more and more slowly if there are several in a row. */
const SHORT_MS = 10_000;
/** Wait while Socket Mode is disabled, in milliseconds. */
const DISABLED_MS = 60_000;
/** How long a connection that Slack is closing may still deliver what is in flight, in milliseconds. */
const DRAIN_MS = 10_000;
/** Envelopes of a connection that wait until the connection has started. */
export const MAX_EARLY = 1_000;
const SWITCHED_OFF = textRef('health.socket_off', { network: 'Slack', page: 'api.slack.com/apps' });

const Opened = z.object({ url: z.string() });

export interface LinkListener {
  envelope: (envelope: Envelope) => void;
  /** A connection is open; `wasOpen`: another one was open until now, and nothing can have been missed. */
  connected: (wasOpen: boolean) => void;
  /** No connection is open any more. */
  lost: () => void;
}

export class SocketLink {
  readonly #api: SlackApi;
  readonly #apiRoot: string | undefined;
  readonly #log: Log;
  readonly #timing: SlackTiming;
  readonly #listener: LinkListener;
  readonly #stop = new AbortController();
  /** Connections that may still deliver something, including those that are closing. */
  readonly #open = new Set<Socket>();
  #problem: ChannelHealth | undefined = { state: 'starting' };
  #work: Promise<void> | undefined;

  /** `api` has the app token. */
  constructor(
    api: SlackApi,
    apiRoot: string | undefined,
    log: Log,
    timing: SlackTiming,
    listener: LinkListener,
  ) {
    this.#api = api;
    this.#apiRoot = apiRoot;
    this.#log = log;
    this.#timing = timing;
    this.#listener = listener;
  }

  get health(): ChannelHealth {
    return this.#problem ?? { state: 'up' };
  }

  /** Resolves once the first connection is open, or at `stop`. */
  async start(): Promise<void> {
    const first = Promise.withResolvers<void>();
    this.#stop.signal.addEventListener('abort', () => first.resolve(), { once: true });
    this.#work = this.#keep(first.resolve);
    await first.promise;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#problem = { state: 'off' };
    await Promise.all([...this.#open].map((socket) => socket.close(this.#timing.closeMs)));
    await this.#work;
  }

  async #keep(first: () => void): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted;) {
      try {
        const { ending } = await this.#connect();
        first();
        const since = performance.now();
        const reason = await ending;
        if (signal.aborted) return;
        if (reason === 'link_disabled') throw new ChannelError('rejected', SWITCHED_OFF);
        failures = performance.now() - since < SHORT_MS ? failures + 1 : 0;
        if (failures > 1)
          await pause(backoffMs(failures - 2, this.#timing.retryBaseMs, RETRY_CAP_MS), signal);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        await this.#wait(error, failures);
      }
    }
  }

  /** Opens the next connection; returns a promise that resolves at the first sign of its end. */
  async #connect(): Promise<{ ending: Promise<Ending> }> {
    const { promise: ending, resolve } = Promise.withResolvers<Ending>();
    const url = await this.#address();
    if (this.#stop.signal.aborted) throw this.#stop.signal.reason;
    // Envelopes in the same packet as the hello wait until it is known that something before them may be
    // missing.
    let early: Envelope[] | undefined = [];
    const envelope = (one: Envelope): void => {
      if (early === undefined) this.#listener.envelope(one);
      // Slack resends what is not acknowledged.
      else if (early.length < MAX_EARLY) early.push(one);
    };
    const socket = new Socket(url, { envelope, ending: resolve });
    const others = [...this.#open];
    this.#open.add(socket);
    void socket.closed.then(() => this.#closed(socket));
    try {
      await socket.ready;
    } catch (error) {
      throw channelUnavailable(textRef('health.not_opened', { network: 'Slack' }), error);
    }
    this.#problem = undefined;
    this.#listener.connected(others.length > 0);
    const envelopes = early;
    early = undefined;
    for (const one of envelopes) this.#listener.envelope(one);
    for (const old of others) void this.#drain(old);
    return { ending };
  }

  /** Waits for what is in flight on a connection; then closes it. */
  async #drain(socket: Socket): Promise<void> {
    const closing = new AbortController();
    void socket.closed.then(() => closing.abort());
    await pause(DRAIN_MS, AbortSignal.any([closing.signal, this.#stop.signal]));
    await socket.close(this.#timing.closeMs);
  }

  #closed(socket: Socket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0 || this.#stop.signal.aborted) return;
    this.#problem ??= { state: 'degraded', detail: textRef('health.broke', { network: 'Slack' }) };
    this.#listener.lost();
  }

  async #wait(error: unknown, failures: number): Promise<void> {
    const failure = toGatewayError(error);
    const isRefused = failure instanceof ChannelError && failure.code === 'unauthorized';
    this.#problem = { state: 'degraded', detail: isRefused ? BAD_APP_TOKEN : messageOf(failure) };
    this.#log.warn({ err: failure, failures }, 'slack_connection_failed');
    const ms =
      failure.textRef === SWITCHED_OFF
        ? DISABLED_MS
        : backoffMs(failures - 1, this.#timing.retryBaseMs, RETRY_CAP_MS);
    await pause(Math.max(ms, failure.retryAfterMs ?? 0), this.#stop.signal);
  }

  /** A fresh address (`apps.connections.open`); it is secret and valid for one connection. */
  async #address(): Promise<string> {
    const answer = await this.#api.call('apps.connections.open', {});
    const url = URL.parse(Opened.safeParse(answer).data?.url ?? '');
    if (url === null || !this.#isSlack(url))
      throw channelUnavailable(textRef('health.no_address', { network: 'Slack' }));
    return url.href;
  }

  #isSlack({ protocol, hostname }: URL): boolean {
    if (this.#apiRoot !== undefined)
      return hostname === URL.parse(this.#apiRoot)?.hostname && /^wss?:$/.test(protocol);
    return protocol === 'wss:' && /(^|\.)slack\.com$/.test(hostname);
  }
}

function endingOf(reason: string | undefined): Ending {
  return reason === 'link_disabled' || reason === 'warning' ? reason : 'refresh_requested';
}
