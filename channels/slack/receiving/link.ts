/**
 * Keeps a Socket Mode connection open from `start` to `stop`. Slack renews each connection every few hours: the next
 * one is open before the old one is closed, so that nothing is lost between them.
 */
import { textRef } from '../../../src/protocol/texts/say.ts';
import { z } from 'zod';
import { ChannelError, toGatewayError, channelUnavailable, messageOf } from '../../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import { BAD_APP_TOKEN } from '../errors.ts';
import type { SlackApi } from '../web-api.ts';
import { type Ending, type Envelope, Socket } from './socket.ts';

/** Longest wait before a new attempt to connect, in milliseconds. */
const RETRY_CAP_MS = 30_000;
/**
 * Connections that last less than this, in milliseconds, are reopened more and more slowly if there are several in a
 * row.
 */
const SHORT_MS = 10_000;
/** Wait while Socket Mode is disabled, in milliseconds. */
const DISABLED_MS = 60_000;
/** How long a connection that Slack is closing may still deliver what is in flight, in milliseconds. */
const DRAIN_MS = 10_000;
/** Envelopes of a connection that wait until the connection has started. */
export const MAX_EARLY = 1_000;

const SWITCHED_OFF = textRef('health.socket_off', { network: 'Slack', page: 'api.slack.com/apps' });

const Opened = z.object({ url: z.string() });

export interface LinkParts {
  /** With the app token. */
  api: Pick<SlackApi, 'call'>;
  apiRoot: string | undefined;
  log: Log;
  /** Wait before the first new attempt after a failed connection, in milliseconds. */
  retryBaseMs: number;
  /** Longest wait for a connection to close during `stop`, in milliseconds. */
  closeMs: number;
}

export interface LinkListener {
  envelope: (envelope: Envelope) => void;
  /** A connection is open; `wasOpen`: another one was open until now, and nothing can have been missed. */
  connected: (wasOpen: boolean) => void;
  /** No connection is open any more. */
  lost: () => void;
}

export class SocketLink {
  readonly #parts: LinkParts;
  readonly #listener: LinkListener;
  readonly #stop = new AbortController();
  /** Connections that may still deliver something, including those that are closing. */
  readonly #open = new Set<Socket>();
  #problem: ChannelHealth | undefined = { state: 'starting' };
  #work: Promise<void> | undefined;

  constructor(parts: LinkParts, listener: LinkListener) {
    this.#parts = parts;
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
    await Promise.all([...this.#open].map((socket) => socket.close(this.#parts.closeMs)));
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
        if (failures > 1) await pause(backoffMs(failures - 2, this.#parts.retryBaseMs, RETRY_CAP_MS), signal);
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
    const before = [...this.#open];
    this.#open.add(socket);
    void socket.closed.then(() => this.#closed(socket));
    try {
      await socket.ready;
    } catch (error) {
      throw channelUnavailable(textRef('health.not_opened', { network: 'Slack' }), error);
    }
    this.#problem = undefined;
    this.#listener.connected(before.length > 0);
    const waiting = early;
    early = undefined;
    for (const one of waiting) this.#listener.envelope(one);
    for (const old of before) void this.#drain(old);
    return { ending };
  }

  /** Waits for what is in flight on a connection; then closes it. */
  async #drain(socket: Socket): Promise<void> {
    const closed = new AbortController();
    void socket.closed.then(() => closed.abort());
    await pause(DRAIN_MS, AbortSignal.any([closed.signal, this.#stop.signal]));
    await socket.close(this.#parts.closeMs);
  }

  #closed(socket: Socket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0 || this.#stop.signal.aborted) return;
    this.#problem ??= { state: 'degraded', detail: textRef('health.broke', { network: 'Slack' }) };
    this.#listener.lost();
  }

  async #wait(error: unknown, failures: number): Promise<void> {
    const { log, retryBaseMs } = this.#parts;
    const failure = toGatewayError(error);
    const refused = failure instanceof ChannelError && failure.code === 'unauthorized';
    const detail = refused ? BAD_APP_TOKEN : messageOf(failure);
    this.#problem = { state: 'degraded', detail };
    log.warn({ err: failure, failures }, 'slack_connection_failed');
    const ms =
      failure.textRef === SWITCHED_OFF ? DISABLED_MS : backoffMs(failures - 1, retryBaseMs, RETRY_CAP_MS);
    await pause(Math.max(ms, failure.retryAfterMs ?? 0), this.#stop.signal);
  }

  /** A fresh address (`apps.connections.open`); it is secret and valid for one connection. */
  async #address(): Promise<string> {
    const answer = await this.#parts.api.call('apps.connections.open', {});
    const url = URL.parse(Opened.safeParse(answer).data?.url ?? '');
    if (url === null || !this.#isSlack(url))
      throw channelUnavailable(textRef('health.no_address', { network: 'Slack' }));
    return url.href;
  }

  #isSlack({ protocol, hostname }: URL): boolean {
    const { apiRoot } = this.#parts;
    if (apiRoot !== undefined) return hostname === URL.parse(apiRoot)?.hostname && /^wss?:$/.test(protocol);
    return protocol === 'wss:' && /(^|\.)slack\.com$/.test(hostname);
  }
}
