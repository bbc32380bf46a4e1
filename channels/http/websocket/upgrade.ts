/** `GET /v1/ws`: the handshake of a WebSocket, and its token, in a header or in the first frame, or a ticket. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../src/lib/clock.ts';
import { type AllowList, checkHeaders } from '../allow-list.ts';
import type { RequestAuthenticator } from '../authenticator.ts';
import { MAX_BODY_BYTES } from '../config.ts';
import { errorBody, HttpError, toHttpError } from '../errors.ts';
import type { StreamOwner } from '../event-stream.ts';
import type { OpenSockets } from '../limits/open-sockets.ts';
import type { HandlerDeps } from '../route.ts';
import { refuseRaw } from '../server.ts';
import { wantedLanguages } from '../inbound.ts';
import { authorizeByTicket } from '../sign-in/tickets.ts';
import { CLOSE, Inbox, readToken } from './frames.ts';
import { SocketStream } from './socket-stream.ts';
import { converse } from './conversation.ts';

export interface WebSocketParts {
  deps: HandlerDeps;
  authenticator: RequestAuthenticator;
  sockets: Pick<OpenSockets, 'hold' | 'identify'>;
  clock: Pick<Clock, 'after'>;
  allowed(): AllowList;
}

/**
 * Serves WebSockets on this server; returns the function that closes those without a token. The others close with their
 * streams.
 */
export function serveWebSockets(server: Server, parts: WebSocketParts): () => void {
  const unknown = new Set<WebSocket>();
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_BODY_BYTES,
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node hands over the connection itself, which no longer has an error listener.
    socket.on('error', () => socket.destroy());
    if (!(socket instanceof Socket)) socket.destroy();
    else void open(handshakes, { ...parts, unknown }, { incoming, socket, head });
  });
  return () => {
    for (const webSocket of unknown) webSocket.terminate();
  };
}

interface OpenParts extends WebSocketParts {
  /** Those whose token is not known yet. */
  unknown: Set<WebSocket>;
}

interface Upgrade {
  incoming: IncomingMessage;
  socket: Socket;
  head: Buffer;
}

async function open(handshakes: WebSocketServer, parts: OpenParts, upgrade: Upgrade): Promise<void> {
  const { incoming, socket, head } = upgrade;
  let owner: StreamOwner | undefined;
  try {
    checkHeaders(incoming, parts.allowed());
    if (!(await parts.deps.gateway.health()).ready)
      throw new HttpError(503, 'not_ready', 'The gateway is still starting; see /readyz.');
    await authorizeByTicket(incoming, socket, parts.deps);
    const { authorization } = incoming.headers;
    if (authorization !== undefined)
      owner = { caller: await parts.authenticator.authorize(incoming, 'chat'), authorization };
  } catch (error) {
    refuseRaw(socket, toHttpError(error));
    return;
  }
  parts.sockets.hold(socket);
  handshakes.handleUpgrade(incoming, socket, head, (webSocket) => {
    webSocket.on('error', () => webSocket.terminate());
    void serve(parts, webSocket, upgrade, owner);
  });
}

async function serve(
  parts: OpenParts,
  webSocket: WebSocket,
  { incoming, socket }: Upgrade,
  known: StreamOwner | undefined,
): Promise<void> {
  const inbox = new Inbox(webSocket);
  let stream: SocketStream;
  try {
    const owner = known ?? (await authenticate(parts, webSocket, inbox, incoming));
    parts.sockets.identify(socket, owner.caller.tokenId);
    stream = parts.deps.streams.keep(
      owner,
      webSocket,
      (flushSoon) => new SocketStream(owner, { webSocket, socket }, flushSoon),
    );
  } catch (error) {
    const httpError = toHttpError(error);
    webSocket.send(JSON.stringify({ type: 'error', ...errorBody(httpError) }));
    // What it sends now is ignored, except that it closes.
    webSocket.resume();
    webSocket.close(httpError.status === 401 ? CLOSE.unauthorized : CLOSE.tooMany, httpError.code);
    return;
  }
  await converse(parts.deps, inbox, stream, wantedLanguages(incoming));
}

/** The caller behind the token of the frame `auth`. Throws `HttpError` and other `GatewayError`s. */
async function authenticate(
  { authenticator, unknown, clock }: OpenParts,
  webSocket: WebSocket,
  inbox: Inbox,
  incoming: IncomingMessage,
): Promise<StreamOwner> {
  unknown.add(webSocket);
  try {
    const authorization = `Bearer ${await readToken(inbox, clock)}`;
    return { caller: await authenticator.authorize(incoming, 'chat', authorization), authorization };
  } finally {
    unknown.delete(webSocket);
  }
}
