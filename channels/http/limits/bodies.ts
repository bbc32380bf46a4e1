/** Bodies that no one reads: short ones are drained to keep the connection, others end it without losing the answer. */
import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import { Socket } from 'node:net';
import { MAX_DISCARDED_BYTES, MAX_DRAINED_BYTES, MAX_LARGE_BODIES, MAX_LINGER_MS } from '../config.ts';
import { HttpError } from '../errors.ts';

/** Waits a moment for the rest of a short unread body, so that the connection survives the answer. Never throws. */
export async function drainShortBody(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { headers } = incoming;
  const isShort = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= MAX_DRAINED_BYTES;
  // A client that waits for "100 Continue" sends nothing.
  if (incoming.complete || outgoing.headersSent || !isShort || headers.expect !== undefined) return;
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(settle, MAX_LINGER_MS);
    incoming.once('end', settle).once('close', settle).resume();
  });
}

/** A response that says "Connection: close" when the body of its request has not arrived whole. */
export class ClosingResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    if (hasBody(this.req) && !this.req.complete) this.shouldKeepAlive = false;
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Half-closes a connection whose body has not arrived whole, so that a sender can read the answer (RFC 9112, 9.6). */
export function limitUnreadBody(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { socket } = incoming;
  if (!hasBody(incoming)) return;
  const close = (): void => Socket.prototype.destroySoon.call(socket);
  let lingering = false;
  const linger = (): void => {
    if (incoming.complete || socket.destroyed) return close();
    if (lingering) return undefined;
    lingering = true;
    let discarded = 0;
    const timer = setTimeout(() => socket.destroy(), MAX_LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    incoming.on('data', (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > MAX_DISCARDED_BYTES) incoming.pause();
    });
    incoming.once('end', () => socket.destroy());
    incoming.resume();
    socket.end();
  };
  // Node calls this to close a connection answered with "Connection: close" immediately.
  socket.destroySoon = linger;
  incoming.once('close', () => {
    if (!lingering) Reflect.deleteProperty(socket, 'destroySoon');
  });
  outgoing.once('finish', () => {
    if (!incoming.complete) linger();
  });
}

/** The large bodies held now. */
export class LargeBodies {
  #held = 0;

  /** Counts a body until its answer has ended. Throws `HttpError` 503 when there are too many. */
  hold(outgoing: ServerResponse): void {
    if (this.#held >= MAX_LARGE_BODIES) {
      const text =
        'Too many large requests are being answered; try again soon, or upload the file to a session.';
      throw new HttpError(503, 'too_many_large_bodies', text, { retryAfterMs: 2_000 });
    }
    this.#held += 1;
    outgoing.once('close', () => (this.#held -= 1));
  }
}
