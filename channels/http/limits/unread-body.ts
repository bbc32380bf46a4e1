/** Closes connections whose client still sends a body that no one reads, without losing the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { MAX_DISCARDED_BYTES, MAX_LINGER_MS } from '../config.ts';

/**
 * After the answer to a request whose body has not arrived whole, the connection is half-closed; a little more of the body
 * is discarded, so that a client that is still sending can read the answer (RFC 9112, 9.6), then the connection ends.
 */
export function limitUnreadBody(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { headers, socket } = incoming;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
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
  // Node calls this to close, immediately, a connection answered with "Connection: close".
  socket.destroySoon = linger;
  incoming.once('close', () => {
    if (!lingering) Reflect.deleteProperty(socket, 'destroySoon');
  });
  outgoing.once('finish', () => {
    if (!incoming.complete) linger();
  });
}
