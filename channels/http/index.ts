/** The HTTP channel: the page, an OpenAI-compatible API and the sessions, on one port. */
import { createAdaptorServer } from '@hono/node-server';
import { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Channel, ChannelDeps } from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import type { Receive } from '../../src/contracts/receive.ts';
import { createApp } from './app.ts';
import { WrongTokenLimiter } from './wrong-token-limiter.ts';
import { createAuthenticator } from './authenticator.ts';
import { allowList } from './allow-list.ts';
import { HEADERS_TIMEOUT_MS, MAX_CONNECTIONS, MAX_HEADER_BYTES, REQUEST_TIMEOUT_MS } from './config.ts';
import type { HttpConfig } from './config.ts';
import { errorBody, HttpError } from './errors.ts';
import { readPageFiles } from './page-files.ts';
import { renderPlain } from './render.ts';
import { OpenStreams } from './open-streams.ts';

export type { HttpConfig } from './config.ts';

/** A channel that listens; `url` is where, once it does. */
export interface HttpChannel extends Channel {
  readonly url: string | undefined;
}

/** Interval of Node's check for slow requests. */
const TIMEOUT_CHECK_MS = 1_000;
/** Time that answers have to finish when the channel stops. */
const CLOSE_GRACE_MS = 250;

/** Makes the channel. `start` opens the port and throws `ChannelError` when that fails. */
export function create(config: HttpConfig, { log, gateway }: ChannelDeps): HttpChannel {
  const limiter = new WrongTokenLimiter();
  const authenticator = createAuthenticator((authorization) => gateway.authenticate(authorization), limiter);
  let running: { server: Server; streams: OpenStreams; url: string } | undefined;
  let health: ChannelHealth = { state: 'off' };

  async function start(receive: Receive): Promise<void> {
    health = { state: 'starting' };
    const streams = new OpenStreams((authorization) => authenticator.isStillValid(authorization));
    const deps = { log, gateway, receive, streams };
    let allowed = allowList(config, config.port);
    const page = await readPageFiles();
    const app = createApp({ deps, authenticator, page, allowed: () => allowed });
    const server = makeServer((request, env) => app.fetch(request, env));
    try {
      const { port } = await listen(server, config);
      allowed = allowList(config, port);
      const host = config.host.includes(':') ? `[${config.host}]` : config.host;
      running = { server, streams, url: `http://${host}:${port}` };
      health = { state: 'up' };
      log.info({ url: running.url }, 'http_listening');
    } catch (error) {
      streams.close();
      const channelError = listenError(error, config);
      health = { state: 'dead', detail: channelError.message };
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
    const grace = setTimeout(() => was.server.closeAllConnections(), CLOSE_GRACE_MS);
    await closed;
    clearTimeout(grace);
  }

  return {
    name: 'http',
    capabilities: {
      edit: false,
      draft: false,
      typing: false,
      reactions: false,
      buttons: false,
      media: false,
      threads: false,
      maxLength: 1_000_000,
      editIntervalMs: () => 0,
      typingMs: 0,
    },
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

function makeServer(fetch: Parameters<typeof createAdaptorServer>[0]['fetch']): Server {
  const server = createAdaptorServer({
    fetch,
    overrideGlobalObjects: false,
    serverOptions: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
  });
  if (!(server instanceof Server)) throw new TypeError('expected a plain HTTP server');
  server.maxConnections = MAX_CONNECTIONS;
  // Without a listener Node itself answers "100 Continue", before the size of the body is checked.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  server.on('clientError', refuseRaw);
  return server;
}

/** Answers bytes that are not valid HTTP with an error in the usual shape. */
function refuseRaw(error: NodeJS.ErrnoException, socket: Socket): void {
  // After or inside an earlier answer on this connection, a client could take this one for a part of it.
  if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const [status, code, message] = RAW_ERRORS[error.code ?? ''] ?? [
    400,
    'bad_request',
    'The request is not valid HTTP.',
  ];
  const body = JSON.stringify(errorBody(new HttpError(status, code, message)));
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

const RAW_ERRORS: Record<string, [number, string, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', `The headers are larger than ${MAX_HEADER_BYTES} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
};

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
  const advice: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is in use by another program; set PORT to a free one.`,
    EACCES: `No permission to listen on port ${port}; set PORT to one above 1023.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; set HOST to one, or to 127.0.0.1.`,
    ENOTFOUND: `${host} cannot be resolved; set HOST to an address of this machine, or to 127.0.0.1.`,
  };
  const message = advice[String(code)] ?? `Cannot listen on ${host}:${port} (HOST, PORT): ${String(code)}.`;
  return new ChannelError(code === 'EADDRINUSE' ? 'conflict' : 'rejected', message, { cause: error });
}
