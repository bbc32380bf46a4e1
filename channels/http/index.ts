/** The HTTP channel: the page, an OpenAI-compatible API and the sessions, on one port. */
import { type TextRef, textRef } from '../../src/protocol/texts/say.ts';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Channel, ChannelDeps } from '../../src/protocol/channel.ts';
import { ChannelError, messageOf } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { usualCapabilities } from '../../src/protocol/channel-settings.ts';
import { steadyRates } from '../../src/protocol/delivery.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { createApp } from './app.ts';
import { WrongTokens } from './limits/wrong-tokens.ts';
import { AnsweredTurns } from './client-retries.ts';
import { clientAddresses } from './limits/client-address.ts';
import { createAuthenticator } from './authenticator.ts';
import { allowList } from './allow-list.ts';
import type { HttpConfig } from './config.ts';
import { KeptCompletions } from './kept-completions.ts';
import { readPageFiles } from './page-files/files.ts';
import { renderPlain } from './render.ts';
import { LargeBodies } from './limits/large-bodies.ts';
import { OpenSockets } from './limits/open-sockets.ts';
import { OpenStreams } from './open-streams.ts';
import { makeServer } from './server.ts';
import { serveWebSockets } from './websocket/upgrade.ts';
import { TokenLimits } from './limits/token-limits.ts';
import { limitUnreadBody } from './limits/unread-body.ts';

export type { HttpConfig } from './config.ts';

/** A channel that listens; `url` is where, once it does. */
export interface HttpChannel extends Channel {
  readonly url: string | undefined;
}

/** Time that answers have to finish when the channel stops. */
const CLOSE_GRACE_MS = 250;

/** Makes the channel. `start` opens the port and throws `ChannelError` when that fails. */
export function create(
  config: HttpConfig,
  deps: HttpDeps,
  clock: Pick<Clock, 'after'> = systemClock,
): HttpChannel {
  const makeRunning = prepare(config, deps, clock);
  let running: Running | undefined;
  let health: ChannelHealth = { state: 'off' };

  async function start(receive: Receive): Promise<void> {
    health = { state: 'starting' };
    try {
      running = await makeRunning(receive);
      health = { state: 'up' };
      deps.log.info({ url: running.url }, 'http_listening');
      // Ready for the first visitor, without delaying the start.
      readPageFiles().catch((error: unknown) => deps.log.error({ err: error }, 'page_unreadable'));
    } catch (error) {
      const channelError = listenError(error, config);
      health = { state: 'dead', detail: messageOf(channelError) };
      throw channelError;
    }
  }

  async function stop(): Promise<void> {
    const was = running;
    if (was === undefined) return;
    running = undefined;
    health = { state: 'off' };
    const closed = new Promise<void>((resolve) => was.server.close(() => resolve()));
    was.streams.close();
    was.closeUnknown();
    const grace = setTimeout(() => was.server.closeAllConnections(), CLOSE_GRACE_MS);
    await closed;
    clearTimeout(grace);
  }

  return {
    name: 'http',
    capabilities: CAPABILITIES,
    get url() {
      return running?.url;
    },
    start,
    stop,
    send: () =>
      Promise.reject(
        new ChannelError('rejected', 'Nothing is sent to HTTP sessions: clients read the stored message.'),
      ),
    render: renderPlain,
    health: () => health,
  };
}

type HttpDeps = Pick<ChannelDeps, 'log' | 'gateway' | 'languages'>;

/** A listening server, and what belongs to it. */
interface Running {
  server: Server;
  streams: OpenStreams;
  closeUnknown: () => void;
  url: string;
}

/** Clients read stored messages: nothing is sent to them. */
const CAPABILITIES = usualCapabilities({
  edit: false,
  delete: false,
  stream: 'off',
  buttons: false,
  threads: false,
  maxLength: 1_000_000,
  rates: steadyRates({ callsPerSecond: 1, editIntervalMs: 0 }),
});

/**
 * Returns the function that starts a server: limits of tokens and addresses outlive it. It throws what `listen` throws.
 */
function prepare(
  config: HttpConfig,
  { log, gateway, languages }: HttpDeps,
  clock: Pick<Clock, 'after'>,
): (receive: Receive) => Promise<Running> {
  const addresses = clientAddresses(config.trustedProxies);
  const wrongTokens = new WrongTokens();
  const addressOf = (incoming: IncomingMessage): string => addresses.of(incoming);
  const authenticator = createAuthenticator({
    authenticate: (authorization) => gateway.authenticate(authorization),
    wrongTokens,
    addressOf,
  });
  const limits = new TokenLimits({ limits: config.limits, gateway, monotonicNow: () => performance.now() });
  return async (receive) => {
    const streams = new OpenStreams((authorizations) => gateway.recheck(authorizations), config.limits);
    const deps = {
      log,
      gateway,
      languages,
      receive: limits.limited(receive),
      streams,
      limits,
      completions: new KeptCompletions(gateway),
      answered: new AnsweredTurns(),
      largeBodies: new LargeBodies(),
      wrongTokens,
      addressOf,
      isFromProxy: ({ socket }: IncomingMessage) => addresses.ofSocket(socket) === undefined,
    };
    try {
      return { streams, ...(await serve(config, { deps, authenticator, addresses, clock })) };
    } catch (error) {
      streams.close();
      throw error;
    }
  };
}

interface Serving extends Pick<Parameters<typeof createApp>[0], 'deps' | 'authenticator'> {
  addresses: ReturnType<typeof clientAddresses>;
  clock: Pick<Clock, 'after'>;
}

/** Listens, and answers from then on. */
async function serve(
  config: HttpConfig,
  { deps, authenticator, addresses, clock }: Serving,
): Promise<Omit<Running, 'streams'>> {
  const sockets = new OpenSockets(config.limits);
  let allowed = allowList(config, config.port);
  const app = createApp({ deps, authenticator, sockets, allowed: () => allowed });
  const server = makeServer((request, env) => app.fetch(request, env));
  const closeUnknown = serveWebSockets(server, {
    deps,
    authenticator,
    sockets,
    clock,
    allowed: () => allowed,
  });
  server.on('connection', (socket) => sockets.add(socket, addresses.ofSocket(socket)));
  server.prependListener('request', (incoming, outgoing) => {
    sockets.serve(incoming, outgoing);
    limitUnreadBody(incoming, outgoing);
  });
  const { port } = await listen(server, config);
  allowed = allowList(config, port);
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return { server, closeUnknown, url: `http://${host}:${port}` };
}

function listen(server: Server, config: HttpConfig): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: config.port, host: config.host }, () => {
      server.off('error', reject);
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new TypeError('listening without a port'));
      else resolve(address);
    });
  });
}

/** Says why the address cannot be listened on, and which setting to change. */
function listenError(error: unknown, { host, port }: HttpConfig): ChannelError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const advice: Record<string, TextRef> = {
    EADDRINUSE: textRef('health.http.in_use', { port: String(port), host }),
    EACCES: textRef('health.http.no_permission', { port: String(port) }),
    EADDRNOTAVAIL: textRef('health.http.not_here', { host }),
    ENOTFOUND: textRef('health.http.unknown_host', { host }),
  };
  const otherwise = textRef('health.http.cannot_listen', { host, port: String(port), code: String(code) });
  const message = advice[String(code)] ?? otherwise;
  return new ChannelError(code === 'EADDRINUSE' ? 'conflict' : 'rejected', message, { cause: error });
}
