/** Turns requests into inbound messages, and refusals into errors. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Caller } from '../../src/protocol/access.ts';
import type { Media } from '../../src/protocol/media.ts';
import {
  type InboundMessage,
  isHttpSessionId,
  parseAddress,
  type SessionKey,
} from '../../src/protocol/message.ts';
import type { Receipt, ReceiveOptions } from '../../src/protocol/receive.ts';
import { newId } from '../../src/lib/ids.ts';
import { MAX_IDEMPOTENCY_KEY } from './config.ts';
import { HttpError, noSession, otherRequest } from './errors.ts';
import type { HandlerDeps, HttpContext } from './route.ts';
import { acceptedAt, type WireReceipt } from './wire.ts';

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
  const text = `Idempotency-Key must be 1 to ${MAX_IDEMPOTENCY_KEY} visible ASCII characters.`;
  throw new HttpError(400, 'bad_idempotency_key', text, { param: 'idempotency-key' });
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
    const text = 'Only sessions named http:<id> accept messages over HTTP.';
    throw new HttpError(400, 'not_an_http_session', text, { param: 'key' });
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

/** The session that the address of a request names. Throws `HttpError` 404. */
export function keyOf(c: HttpContext): SessionKey {
  return readableKey(c.req.param('key') ?? '');
}

/** What `act` does or reads in the session that the request's address names. Throws `HttpError` 404 for undefined. */
export async function inSession<Result>(
  c: HttpContext,
  act: (caller: Caller, key: SessionKey) => Promise<Result | undefined>,
): Promise<Result> {
  const key = keyOf(c);
  const result = await act(c.get('caller'), key);
  if (result === undefined) throw noSession(key);
  return result;
}

function badSessionId(param: string): HttpError {
  const text = 'A session id is 1 to 64 characters of A-Z, a-z, 0-9, "_" and "-".';
  return new HttpError(400, 'bad_session_id', text, { param });
}

/** Throws `HttpError` 422 when the `Idempotency-Key` of a repeated message came with another body before. */
export function checkRepeat(receipt: Receipt): void {
  if (receipt.kind === 'duplicate' && receipt.differs === true) throw otherRequest();
}

/** Passes a message on; what the answer says is committed. Throws `HttpError` and other `GatewayError`s. */
export async function accept(
  { gateway, receive }: HandlerDeps,
  message: InboundMessage,
  options: ReceiveOptions,
): Promise<WireReceipt> {
  const key: SessionKey = `http:${message.chatId}`;
  // Read before the message is accepted: a fast turn may have ended when this answer is made.
  const lastEventId = gateway.lastEventId(key);
  const receipt = await receive(message, options);
  if (receipt.kind === 'refused') throw refusal(receipt, key);
  checkRepeat(receipt);
  return acceptedAt(receipt, lastEventId);
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

/** Longest name of an end user, in UTF-16 units. */
export const MAX_END_USER = 512;

const name = z.string().min(1).max(MAX_END_USER);

/** The field as a digest: any characters, and nothing of them is stored. An object, as some clients send, counts by its `id`. */
export const endUserSchema = z
  .union([name, z.looseObject({ id: name })], {
    error: `must be the name of an end user, 1 to ${MAX_END_USER} characters, or an object with such an "id"`,
  })
  .nullish()
  .transform((user) => {
    if (user === undefined || user === null) return undefined;
    const id = typeof user === 'string' ? user : user.id;
    return endUserKey(id);
  });

/** What stands for an end user in messages and memories: names can be anything, and some are addresses of people. */
export function endUserKey(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}
