/** A request's message as the gateway receives it: its session, its id, and why it may be refused. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../src/contracts/access.ts';
import { newId } from '../../src/lib/ids.ts';
import { isHttpSessionId, parseAddress } from '../../src/contracts/message.ts';
import type { InboundMessage, Media, SessionKey } from '../../src/contracts/message.ts';
import type { Receipt } from '../../src/contracts/receive.ts';
import { MAX_IDEMPOTENCY_KEY } from './config.ts';
import { HttpError, noSession } from './errors.ts';

/** The message. `Idempotency-Key` names it, so that a repeat is answered like the first. Throws `HttpError` 400. */
export function toInbound(
  incoming: IncomingMessage,
  caller: Caller,
  sessionId: string,
  said: { content: string; media: Media[] },
): InboundMessage {
  return {
    id: idempotencyKey(incoming) ?? newId(),
    channel: 'http',
    chatId: sessionId,
    senderId: `token:${caller.tokenId}`,
    content: said.content,
    media: said.media,
    timestamp: Date.now(),
    place: 'private',
    mentioned: true,
  };
}

/** The header, if there is one. Throws `HttpError` 400. */
export function idempotencyKey(incoming: IncomingMessage): string | undefined {
  const key = incoming.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length <= MAX_IDEMPOTENCY_KEY && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new HttpError(
    400,
    'bad_idempotency_key',
    `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY} visible ASCII characters.`,
    { param: 'idempotency-key' },
  );
}

/** The session a completion names by `X-Session-Id`, else by `user`; undefined = stateless. Throws `HttpError` 400. */
export function sessionIdOf(incoming: IncomingMessage, user: string | null | undefined): string | undefined {
  const header = incoming.headers['x-session-id'];
  const id = typeof header === 'string' ? header : user;
  if (id === undefined || id === null) return undefined;
  if (isHttpSessionId(id)) return id;
  throw badSessionId(header === undefined ? 'user' : 'x-session-id');
}

/** The id behind `http:` in a route's key. Throws `HttpError` 400 for a session that accepts no messages over HTTP. */
export function postableId(key: string): string {
  if (!key.startsWith('http:')) {
    throw new HttpError(
      400,
      'not_an_http_session',
      'Only sessions named http:<id> take messages over HTTP.',
      {
        param: 'key',
      },
    );
  }
  const id = key.slice('http:'.length);
  if (isHttpSessionId(id)) return id;
  throw badSessionId('key');
}

/** A route's key, if it could name a session at all. Throws `HttpError` 404. */
export function readableKey(key: string): SessionKey {
  try {
    parseAddress(key);
  } catch {
    throw noSession(key);
  }
  const first = key.indexOf(':');
  const address: SessionKey = `${key.slice(0, first)}:${key.slice(first + 1)}`;
  if (key.length > 200 || !key.isWellFormed() || key.includes('\0')) throw noSession(key);
  return address;
}

function badSessionId(param: string): HttpError {
  return new HttpError(
    400,
    'bad_session_id',
    'A session id is 1 to 64 characters of A-Z, a-z, 0-9, "_" and "-".',
    {
      param,
    },
  );
}

const REFUSED = {
  denied: 403,
  pairing: 403,
  rate_limited: 429,
  queue_full: 429,
  too_large: 413,
  empty: 400,
} as const;

/** The error for a message that was refused. Somebody else's session looks like one that is not there. */
export function refusal(receipt: Extract<Receipt, { kind: 'refused' }>, key: SessionKey): HttpError {
  if (receipt.code === 'denied') return noSession(key);
  return new HttpError(REFUSED[receipt.code], receipt.code, receipt.reply ?? 'The message was not accepted.');
}
