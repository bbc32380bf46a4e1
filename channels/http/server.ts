/** The HTTP server under the app: its limits, an id for every request, and answers to invalid HTTP. */
import { getRequestListener } from '@hono/node-server';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { newId } from '../../src/lib/ids.ts';
import {
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  MAX_CONNECTIONS,
  MAX_HEADER_BYTES,
  UPLOAD_TIMEOUT_MS,
} from './config.ts';
import { answerError, errorBody, HttpError, sendError } from './errors.ts';
import { ClosingResponse } from './limits/bodies.ts';

const TIMEOUT_CHECK_MS = 1_000;
/** A caller's own id for a request, which is returned: safe in a log and in a header. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

/** Makes the server; it does not listen yet. Every answer has `X-Request-Id`, and every error a JSON body. */
export function makeServer(fetch: Parameters<typeof getRequestListener>[0]): Server {
  const listener = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    // This channel limits the rest of a body itself, to less.
    autoCleanupIncoming: false,
    errorHandler: () => answerError(new HttpError(400, 'bad_request', 'The request line is not valid.')),
  });
  const server = createServer({
    ServerResponse: ClosingResponse,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // For files; the body of any other request has less time, enforced where it is read.
    requestTimeout: UPLOAD_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    // Node's own refusal has no body.
    requireHostHeader: false,
    // Clients that continue with HTTP/1.1 offer other protocols, `h2c` for instance.
    shouldUpgradeCallback: isWebSocketRequest,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    response.setHeader('x-request-id', requestIdOf(request));
    const error = lineError(request);
    if (error === undefined) void listener(request, response);
    else sendError(response, error);
  };
  server.on('request', handle);
  // Without a listener Node itself answers "100 Continue", before the size of the body is checked.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('x-request-id', requestIdOf(request));
    sendError(response, new HttpError(417, 'expectation_failed', 'The only expectation is "100-continue".'));
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    refuseRaw(socket, new HttpError(405, 'method_not_allowed', 'CONNECT is not supported.')),
  );
  server.on('clientError', refuseInvalid);
  return server;
}

const WEBSOCKET_PATH = '/v1/ws';

function isWebSocketRequest({ headers, url = '' }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0] === WEBSOCKET_PATH;
}

/** The id under which a request is logged: its caller's own, or a new one. */
function requestIdOf(request: IncomingMessage): string {
  const header = request.headers['x-request-id'];
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : newId();
}

/** What is wrong with the request line or the one header that HTTP requires. */
function lineError({ httpVersion, headers }: IncomingMessage): HttpError | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new HttpError(505, 'http_version_not_supported', 'This server speaks HTTP/1.1.');
  }
  if (headers.host !== undefined) return undefined;
  return new HttpError(400, 'missing_host', 'The header Host is missing.', { param: 'host' });
}

const RAW_ERRORS: Record<string, [number, string, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', `The headers are larger than ${MAX_HEADER_BYTES} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
};

/** Answers bytes that are not valid HTTP with an error in the usual shape. */
function refuseInvalid(error: NodeJS.ErrnoException, socket: Socket): void {
  // After or inside an earlier answer on this connection, a client could mistake this one for a part of it.
  if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const [status, code, message] = RAW_ERRORS[error.code ?? ''] ?? [
    400,
    'bad_request',
    'The request is not valid HTTP.',
  ];
  refuseRaw(socket, new HttpError(status, code, message));
}

/** Writes the error as the last answer on a connection that has no response object. Never throws. */
export function refuseRaw(socket: Socket, error: HttpError): void {
  const body = JSON.stringify(errorBody(error));
  const head = [
    `HTTP/1.1 ${error.status} Refused`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${newId()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
