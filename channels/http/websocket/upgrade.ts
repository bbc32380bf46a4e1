/** `GET /v1/ws`: the handshake of a WebSocket, and its token, in a header or in the first frame, or a ticket. */
import type { IncomingMessage, Server } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../src/lib/clock.ts';
import { checkHeaders } from '../allow-list.ts';
import type { AppParts } from '../app.ts';
import { MAX_BODY_BYTES, MAX_LINGER_MS } from '../config.ts';
import { errorBody, notReady, toHttpError } from '../errors.ts';
import type { StreamOwner } from '../event-stream.ts';
import { wantedLanguages } from '../inbound.ts';
import { authorizeByTicket } from '../routes/sign-in.ts';
import { refuseRaw } from '../server.ts';
import { converse } from './conversation.ts';
import { CLOSE, Inbox, readToken } from './frames.ts';
import { SocketStream } from './socket-stream.ts';

/** Serves WebSockets on this server; returns the function that closes those without a token. */
export function serveWebSockets(server: Server, parts: AppParts, clock: Clock): () => void {
  const webSockets = new WebSockets(parts, clock);
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node hands over the connection itself, which no longer has an error listener.
    socket.on('error', () => socket.destroy());
    if (!(socket instanceof Socket)) socket.destroy();
    else void webSockets.open(incoming, socket, head);
  });
  return () => webSockets.closeUnknown();
}

class WebSockets {
  readonly #parts: AppParts;
  readonly #clock: Clock;
  /** Those whose token is not known yet. */
  readonly #unknown = new Set<WebSocket>();
  readonly #handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_BODY_BYTES,
  });

  constructor(parts: AppParts, clock: Clock) {
    this.#parts = parts;
    this.#clock = clock;
  }

  async open(incoming: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { deps, authenticator } = this.#parts;
    let owner: StreamOwner | undefined;
    try {
      checkHeaders(incoming, this.#parts.allowed());
      if (!(await deps.gateway.health()).ready) throw notReady();
      await authorizeByTicket(incoming, socket, deps);
      const { authorization } = incoming.headers;
      if (authorization !== undefined)
        owner = { caller: await authenticator.authorize(incoming, 'chat'), authorization };
    } catch (error) {
      refuseRaw(socket, toHttpError(error));
      return;
    }
    this.#handshakes.handleUpgrade(incoming, socket, head, (webSocket) => {
      webSocket.on('error', () => webSocket.terminate());
      void this.#serve(webSocket, incoming, socket, owner);
    });
  }

  closeUnknown(): void {
    for (const webSocket of this.#unknown) webSocket.terminate();
  }

  async #serve(
    webSocket: WebSocket,
    incoming: IncomingMessage,
    socket: Socket,
    identified: StreamOwner | undefined,
  ): Promise<void> {
    const { deps } = this.#parts;
    const inbox = new Inbox(webSocket);
    let stream: SocketStream;
    try {
      const owner = identified ?? (await this.#authenticate(webSocket, inbox, incoming));
      deps.sockets.identify(socket, owner.caller, socket);
      stream = deps.streams.keep(
        owner,
        webSocket,
        (flushSoon) => new SocketStream(owner, { webSocket, socket }, flushSoon),
      );
    } catch (error) {
      const httpError = toHttpError(error);
      webSocket.send(JSON.stringify({ type: 'error', ...errorBody(httpError) }));
      // What it sends now is ignored, except that it closes, for which it has a moment.
      webSocket.resume();
      webSocket.close(httpError.status === 401 ? CLOSE.unauthorized : CLOSE.tooMany, httpError.code);
      setTimeout(() => webSocket.terminate(), MAX_LINGER_MS).unref();
      return;
    }
    await converse(deps, inbox, stream, wantedLanguages(incoming));
  }

  /** The caller behind the token of the frame `auth`. Throws `HttpError` and other `GatewayError`s. */
  async #authenticate(webSocket: WebSocket, inbox: Inbox, incoming: IncomingMessage): Promise<StreamOwner> {
    const { deps, authenticator } = this.#parts;
    const crowded = Promise.withResolvers<never>();
    const end = deps.strangers.wait(deps.addressOf(incoming), crowded.reject);
    this.#unknown.add(webSocket);
    try {
      const token = await Promise.race([readToken(inbox, this.#clock), crowded.promise]);
      const authorization = `Bearer ${token}`;
      return { caller: await authenticator.authorize(incoming, 'chat', authorization), authorization };
    } finally {
      end();
      this.#unknown.delete(webSocket);
    }
  }
}
