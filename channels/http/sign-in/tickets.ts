/**
 * Tickets for streams: `EventSource` and the WebSockets of browsers cannot send headers, and a token must not be in an
 * address.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { TICKET_MS } from '../../../src/protocol/operator/sign-in.ts';
import { toGatewayError } from '../../../src/protocol/errors.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** Longest ticket that is read, in UTF-16 units. */
const MAX_TICKET = 100;

/** Returns a ticket for one stream. Throws `HttpError` 400 to the page, whose cookie opens its streams. */
export async function makeTicket(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  if (/^session /i.test(c.env.incoming.headers.authorization ?? '')) {
    const text = 'A ticket belongs to a token: send one in "Authorization: Bearer …".';
    throw new HttpError(400, 'token_needed', text, { param: 'authorization' });
  }
  const ticket = await gateway.signIns.ticket(c.get('caller'));
  return c.json({ ticket, expiresAt: new Date(Date.now() + TICKET_MS) }, 201);
}

/**
 * Gives a request without a token the rights of the ticket in its address, until `closing` closes; this uses the ticket
 * up. Throws `HttpError` 401 or 429, and `StoreError`.
 */
export async function authorizeByTicket(
  incoming: IncomingMessage,
  closing: EventEmitter,
  {
    gateway,
    wrongTokens,
    addressOf,
    log,
  }: Pick<HandlerDeps, 'gateway' | 'wrongTokens' | 'addressOf' | 'log'>,
): Promise<void> {
  const ticket = queryOf(incoming).get('ticket');
  if (ticket === null || incoming.headers.authorization !== undefined) return;
  const known = ticket.length <= MAX_TICKET ? ticket : '';
  const secret = await gateway.signIns.redeemTicket(known);
  if (secret === undefined) {
    const waitMs = wrongTokens.count(addressOf(incoming));
    const text = 'This ticket was already used or is too old. POST /v1/stream-tickets gives a new one.';
    if (waitMs === undefined) throw new HttpError(401, 'invalid_ticket', text, { param: 'ticket' });
    const many = 'Too many wrong tickets from this address; try again later.';
    throw new HttpError(429, 'too_many_attempts', many, { retryAfterMs: waitMs });
  }
  incoming.headers.authorization = `Session ${secret}`;
  closing.once('close', () => {
    gateway.signIns
      .signOut(secret)
      .catch((error: unknown) => log.info({ err: toGatewayError(error) }, 'ticket_not_removed'));
  });
}

/** The query of a request's address. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const [, query = ''] = url.split('?', 2);
  return new URLSearchParams(query);
}
