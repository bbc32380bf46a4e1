/** Turns requests into inbound messages, and refusals into errors. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../src/protocol/access.ts';
import { newId } from '../../src/lib/ids.ts';
import {
  type InboundMessage,
  isHttpSessionId,
  parseAddress,
  type SessionKey,
} from '../../src/protocol/message.ts';
import type { Media } from '../../src/protocol/media.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import { MAX_IDEMPOTENCY_KEY } from './config.ts';
import { HttpError, noSession } from './errors.ts';

/** The inbound message. `key`, the `Idempotency-Key`, is its id, so that a repeat gets the same answer. */
export function toInbound(
  key: string | undefined,
  caller: Caller,
  sessionId: string,
  body: {
    content: string;
    media: Media[];
    user?: string | undefined;
    quoted?: { text: string; author?: string | undefined } | undefined;
    /** The header `Accept-Language`. */
    language?: string | undefined;
  },
): InboundMessage {
  return {
    id: key ?? newId(),
    channel: 'http',
    chatId: sessionId,
    senderId: `token:${caller.tokenId}`,
    endUser: body.user,
    language: body.language,
    content: body.content,
    media: body.media,
    // It is not known here whose text a client passes on.
    ...(body.quoted && { quoted: { ...body.quoted, by: 'other' as const, media: [] } }),
    timestamp: Date.now(),
    place: 'private',
    mentioned: true,
  };
}

/** The languages that the client's user reads, according to the header. */
export function wantedLanguages({ headers }: IncomingMessage): string | undefined {
  return headers['accept-language'];
}

/** Visible ASCII. */
export const IDEMPOTENCY_KEY = new RegExp(`^[\\x21-\\x7e]{1,${MAX_IDEMPOTENCY_KEY}}$`);

/** The `Idempotency-Key` header; undefined without one. Throws `HttpError` 400. */
export function idempotencyKey(incoming: IncomingMessage): string | undefined {
  const key = incoming.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key;
  throw new HttpError(
    400,
    'bad_idempotency_key',
    `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY} visible ASCII characters.`,
    { param: 'idempotency-key' },
  );
}

/** The session that `X-Session-Id` names; undefined = stateless. No field of a body names one. Throws `HttpError` 400. */
export function sessionIdOf(incoming: IncomingMessage): string | undefined {
  const id = incoming.headers['x-session-id'];
  if (id === undefined) return undefined;
  if (typeof id === 'string' && isHttpSessionId(id)) return id;
  throw badSessionId('x-session-id');
}

/** The id after `http:` in a route's key. Throws `HttpError` 400 for a session that accepts no messages over HTTP. */
export function postableId(key: string): string {
  if (!key.startsWith('http:')) {
    throw new HttpError(
      400,
      'not_an_http_session',
      'Only sessions named http:<id> accept messages over HTTP.',
      {
        param: 'key',
      },
    );
  }
  const id = key.slice('http:'.length);
  if (isHttpSessionId(id)) return id;
  throw badSessionId('key');
}

/** A route's key as a session key. Throws `HttpError` 404 when no session can have it. */
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

/** Throws `HttpError` 422 when the `Idempotency-Key` of a repeated message came with another body before. */
export function checkRepeat(receipt: Receipt): void {
  if (receipt.kind === 'duplicate' && receipt.differs === true) throw otherRequest();
}

/** The error for an `Idempotency-Key` that came with another request before. */
export function otherRequest(): HttpError {
  return new HttpError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key was used with another request. Send a new key with a new request.',
    { param: 'idempotency-key' },
  );
}

const REFUSED = {
  denied: 403,
  forbidden: 403,
  pairing: 403,
  rate_limited: 429,
  queue_full: 429,
  too_large: 413,
  empty: 400,
  tools_pending: 409,
  planning_off: 409,
  not_retried: 409,
} as const;

/** The error for a refused message. Another token's session looks as if it did not exist. */
export function refusal(receipt: Extract<Receipt, { kind: 'refused' }>, key: SessionKey): HttpError {
  if (receipt.code === 'denied') return noSession(key);
  const { code, reply = 'The message was not accepted.', retryAfterMs } = receipt;
  return new HttpError(REFUSED[code], code, reply, retryAfterMs === undefined ? {} : { retryAfterMs });
}
