/** The HTTP channel: the page, an OpenAI-compatible API and the sessions, on one port. */
import type { Nodes, Root } from 'mdast';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { urlOfListener } from '../../src/lib/connection-url.ts';
import type { Channel, Rendered } from '../../src/protocol/channel.ts';
import { steadyRates } from '../../src/protocol/delivery.ts';
import { ChannelError, messageOf } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { usualCapabilities } from '../../src/protocol/channel-settings.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { type TextRef, textRef } from '../../src/protocol/texts/say.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { allowList } from './allow-list.ts';
import { createApp } from './app.ts';
import { Authenticator, WrongTokens } from './authenticator.ts';
import type { HttpConfig } from './config.ts';
import { LargeBodies, limitUnreadBody } from './limits/bodies.ts';
import { type ClientAddresses, clientAddresses } from './limits/client-address.ts';
import { OpenSockets } from './limits/open-sockets.ts';
import { Strangers } from './limits/strangers.ts';
import { TokenLimits } from './limits/token-limits.ts';
import { OpenStreams } from './open-streams.ts';
import { readPageFiles } from './page-files.ts';
import { AnsweredTurns, KeptCompletions } from './repeats.ts';
import type { HandlerDeps, HttpDeps } from './route.ts';
import { makeServer } from './server.ts';
import { serveWebSockets } from './websocket/upgrade.ts';

export type { HttpConfig } from './config.ts';

/** A channel that listens; `url` is where, once it does. */
export interface HttpChannel extends Channel {
  readonly url: string | undefined;
}

/** Time that answers have to finish when the channel stops. */
const CLOSE_GRACE_MS = 250;

/** Makes the channel. `start` opens the port and throws `ChannelError` when that fails. */
export function create(config: HttpConfig, deps: HttpDeps, clock: Clock = systemClock): HttpChannel {
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
    const closing = new Promise<void>((resolve) => was.server.close(() => resolve()));
    was.streams.close();
    was.closeUnknown();
    const grace = setTimeout(() => was.server.closeAllConnections(), CLOSE_GRACE_MS);
    await closing;
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

/** Returns the function that starts a server: limits outlive it. It throws what `listen` throws. */
function prepare(config: HttpConfig, deps: HttpDeps, clock: Clock): (receive: Receive) => Promise<Running> {
  const { gateway } = deps;
  const addresses = clientAddresses(config.trustedProxies);
  const wrongTokens = new WrongTokens();
  const limits = new TokenLimits(config.limits, gateway, () => performance.now());
  return async (receive) => {
    const streams = new OpenStreams(
      (authorizations) => gateway.recheck(authorizations),
      config.limits.streamsPerToken,
    );
    const handlerDeps: HandlerDeps = {
      ...deps,
      receive: limits.limited(receive),
      streams,
      limits,
      completions: new KeptCompletions((...call) => gateway.complete(...call)),
      answered: new AnsweredTurns(),
      largeBodies: new LargeBodies(),
      wrongTokens,
      sockets: new OpenSockets(config.limits),
      strangers: new Strangers(),
      a2a: config.a2a,
      addressOf: (incoming) => addresses.of(incoming),
      isFromProxy: ({ socket }) => addresses.ofSocket(socket) === undefined,
    };
    try {
      return await serve(config, handlerDeps, addresses, clock);
    } catch (error) {
      streams.close();
      throw error;
    }
  };
}

async function serve(
  config: HttpConfig,
  deps: HandlerDeps,
  addresses: ClientAddresses,
  clock: Clock,
): Promise<Running> {
  const authenticator = new Authenticator(deps.gateway, deps.wrongTokens, deps.addressOf);
  let allowedValues = allowList(config, config.port);
  const parts = { deps, authenticator, allowed: () => allowedValues };
  const app = createApp(parts);
  const server = makeServer((request, env) => app.fetch(request, env));
  const closeUnknown = serveWebSockets(server, parts, clock);
  server.on('connection', (socket) => deps.sockets.add(socket, addresses.ofSocket(socket)));
  server.prependListener('request', limitUnreadBody);
  const { port } = await listen(server, config);
  allowedValues = allowList(config, port);
  return { server, streams: deps.streams, closeUnknown, url: urlOfListener(config.host, port) };
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
  const fallback = textRef('health.http.cannot_listen', { host, port: String(port), code: String(code) });
  const message = advice[String(code)] ?? fallback;
  return new ChannelError(code === 'EADDRINUSE' ? 'conflict' : 'rejected', message, { cause: error });
}

const BLOCKS = new Set(['root', 'blockquote', 'list', 'listItem', 'table', 'tableRow', 'footnoteDefinition']);

/** The document's text, one block per line; `length` counts UTF-16 units. */
function renderPlain(doc: Root): Rendered {
  const text = textOf(doc);
  return { text, plain: text, length: text.length };
}

function textOf(node: Nodes): string {
  if (node.type === 'image' || node.type === 'imageReference') return node.alt ?? '';
  if (node.type === 'break') return '\n';
  if ('value' in node) return node.value;
  if (!('children' in node)) return '';
  return node.children.map(textOf).join(BLOCKS.has(node.type) ? '\n' : '');
}
