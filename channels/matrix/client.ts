/** Calls of the client-server API: throws every limit and failure at once as `ChannelError`; no call waits or is repeated here. */
import { textRef, type TextRef } from '../../src/protocol/texts/say.ts';
import {
  ChannelError,
  type ChannelErrorCode,
  channelUnavailable,
  errorCode,
} from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { ChannelTiming } from '../../src/protocol/channel-settings.ts';
import { tokenHealth, tokenRefusals, tokenRefused } from '../../src/protocol/channel-parts.ts';
import { LongAnswer, openResponse, readText } from '../../src/lib/async/http-stream.ts';
import { type Refusals, RetryAfterPauses } from '../../src/lib/async/call-gate.ts';
import { z } from 'zod';
import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { parseJson } from '../../src/lib/json/json.ts';

const BAD_TOKEN = textRef('health.login_token', { network: 'Matrix', variable: 'MATRIX_TOKEN' });

/** A refusal in the homeserver's format ("Standard error response"); kept as the cause of the error. */
class Refusal extends Error {
  readonly status: number;
  readonly errcode: string;

  constructor(status: number, errcode: string) {
    super(`The homeserver answered with status ${status} and ${errcode}.`);
    this.status = status;
    this.errcode = errcode;
  }
}

/** The connection broke or timed out, so that the homeserver may or may not have carried out the call. */
class LostAnswer extends Error {}

const Body = z.object({ errcode: z.string(), retry_after_ms: z.number().optional().catch(undefined) });

const TOKEN_ERRORS = new Set(['M_UNKNOWN_TOKEN', 'M_MISSING_TOKEN', 'M_USER_DEACTIVATED', 'M_USER_LOCKED']);

const MEANINGS: Readonly<Record<string, [ChannelErrorCode, string | TextRef]>> = {
  M_FORBIDDEN: [
    'blocked',
    'The bot is not allowed to do this in the Matrix room: it is not in it, or lacks the power.',
  ],
  M_GUEST_ACCESS_FORBIDDEN: ['blocked', 'The Matrix room admits no guests: give the bot a full account.'],
  M_USER_SUSPENDED: ['blocked', "The bot's account on the Matrix homeserver is suspended."],
  M_CONSENT_NOT_GIVEN: [
    'blocked',
    "The bot's account has not agreed to the terms of its Matrix homeserver: log in with it once and agree.",
  ],
  M_TOO_LARGE: ['rejected', 'This is too large for the Matrix homeserver.'],
  M_NOT_FOUND: ['rejected', 'The Matrix homeserver does not have this.'],
};

/** The wait in milliseconds if the homeserver reports a limit without a time. */
const LIMIT_MS = 5_000;
/** Longest wait that is respected, in milliseconds. */
const MAX_LIMIT_MS = 3_600_000;

interface RawRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT';
  headers: Record<string, string>;
  body?: Uint8Array | undefined;
  /** A connection that transfers nothing for this long is closed, in milliseconds. */
  silenceMs: number;
  signal?: AbortSignal | undefined;
  /** Aborts when the whole answer should have arrived. */
  late?: AbortSignal;
}

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

/** Longest wait for an answer, and how long it may go on arriving then, in milliseconds. */
const ANSWER_MS = 10_000;
export const WHOLE_MS = 30_000;
/** Failed calls in a row after which the homeserver counts as unreachable. */
const MAX_FAILURES = 3;
/** Maximum number of call kinds whose limits are remembered; there are fewer kinds than that. */
const MAX_PAUSES = 100;

/** The channel's clock and waits, in milliseconds. */
export interface MatrixTiming extends ChannelTiming {
  /** How long the homeserver may hold a sync open. */
  longPollMs: number;
  /** How long the key of a message may follow it before its room is told that it is missing. */
  keyGraceMs: number;
  /** Most keys of encrypted rooms that are stored; the oldest make room for new ones. */
  maxRoomKeys: number;
  /** How long an answer may go on arriving: a homeserver could send a byte now and then for ever. */
  wholeMs: number;
}

export interface Call {
  query?: Record<string, string>;
  /** Sent as JSON; bytes are sent unchanged. */
  body?: object | Uint8Array;
  contentType?: string;
  silenceMs?: number;
  /** How much later than that the whole answer may arrive, in milliseconds. */
  wholeMs?: number;
  signal?: AbortSignal;
  /** Calls of one kind share a pause that the homeserver requests. */
  limit?: string;
}

/** A path below the homeserver's address; every part is escaped: ids contain `:`, `/` and `!`. */
export function pathOf(prefix: string, ...parts: readonly string[]): string {
  return [prefix, ...parts.map((part) => encodeURIComponent(part))].join('/');
}

export const CLIENT = '/_matrix/client/v3';
export const RELATIONS = '/_matrix/client/v1/rooms';
export const AUTHENTICATED_MEDIA = '/_matrix/client/v1/media';
export const MEDIA = '/_matrix/media/v3';

export class MatrixClient {
  readonly #root: string;
  readonly #headers: { authorization: string };
  readonly #epochNow: () => number;
  readonly #pauses: RetryAfterPauses;
  readonly #refusals: Refusals;
  readonly #wholeMs: number;
  #failures = 0;

  /** `url` is the homeserver's, `token` is secret; `epochNow` is compared with its dates, `monotonicMs` measures waits. */
  constructor(
    url: string,
    token: string,
    epochNow: () => number,
    monotonicMs: () => number,
    wholeMs = WHOLE_MS,
  ) {
    this.#root = url.replace(/\/$/, '');
    this.#headers = { authorization: `Bearer ${token}` };
    this.#epochNow = epochNow;
    this.#pauses = new RetryAfterPauses(MAX_PAUSES, monotonicMs);
    this.#refusals = tokenRefusals(monotonicMs);
    this.#wholeMs = wholeMs;
  }

  /** Makes one call; returns the JSON of the answer. Throws `ChannelError`, or the signal's reason. */
  async call(method: 'GET' | 'POST' | 'PUT', path: string, call: Call = {}): Promise<unknown> {
    const { limit = path } = call;
    const pauseMs = this.#pauses.left(limit);
    if (pauseMs > 0) throw rateLimited(pauseMs, undefined, true);
    if (this.#refusals.leftMs > 0) throw tokenRefused(this.#refusals, BAD_TOKEN);
    try {
      const answer = await this.#ask(method, path, call);
      this.#failures = 0;
      this.#refusals.clear();
      return answer;
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      if (isTokenError(error)) throw await this.#judgeToken(path, error);
      this.#failures = error.code === 'unavailable' ? this.#failures + 1 : 0;
      if (error.code === 'rate_limited') this.#pauses.note(limit, error.retryAfterMs ?? 0);
      throw error;
    }
  }

  /** The answer to a request for bytes, with status 200. Throws `ChannelError`, or the signal's reason. */
  async open(path: string, silenceMs: number, signal: AbortSignal): Promise<IncomingMessage> {
    const request: RawRequest = {
      url: this.#urlOf(path),
      method: 'GET',
      headers: this.#headers,
      silenceMs,
      signal,
    };
    const response = await openRequest(request);
    if (response.statusCode === 200) return response;
    throw refusalOf(
      response.statusCode ?? 0,
      parseJson(await readBody(response)),
      response.headers['retry-after'],
      this.#epochNow(),
    );
  }

  /** Health according to the calls so far: undefined while all is well. */
  get health(): ChannelHealth | undefined {
    const refusal = tokenHealth(this.#refusals, BAD_TOKEN);
    if (refusal !== undefined || this.#failures < MAX_FAILURES) return refusal;
    return {
      state: 'degraded',
      detail: textRef('health.server_calls', { network: 'Matrix', variable: 'MATRIX_URL' }),
    };
  }

  async #ask(method: RawRequest['method'], path: string, call: Call): Promise<unknown> {
    const { query = {}, body, contentType = 'application/json', silenceMs = ANSWER_MS, signal } = call;
    const bytes = body === undefined || body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
    const headers = { ...this.#headers, ...(bytes !== undefined && { 'content-type': contentType }) };
    const url = this.#urlOf(path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), silenceMs + (call.wholeMs ?? this.#wholeMs));
    let response: IncomingMessage;
    let answer: unknown;
    try {
      response = await openRequest({
        url,
        method,
        headers,
        body: bytes,
        silenceMs,
        signal,
        late: late.signal,
      });
      answer = parseJson(await readBody(response));
      // A body that ends with its connection looks whole.
      if (late.signal.aborted) throw lost(late.signal.reason);
    } catch (error) {
      if (late.signal.aborted) this.#failures = MAX_FAILURES;
      throw error;
    } finally {
      clearTimeout(timer);
    }
    const { statusCode: status = 0 } = response;
    if (status !== 200) throw refusalOf(status, answer, response.headers['retry-after'], this.#epochNow());
    if (answer === undefined) throw channelUnavailable(textRef('health.foreign', { network: 'Matrix' }));
    return answer;
  }

  #urlOf(path: string): URL {
    return new URL(this.#root + path);
  }

  /** A single refusal proves nothing: `whoami` shows whether the token is good. */
  async #judgeToken(path: string, refusal: ChannelError): Promise<ChannelError> {
    const whoami = pathOf(CLIENT, 'account', 'whoami');
    if (path !== whoami) {
      try {
        await this.#ask('GET', whoami, {});
        return channelUnavailable(
          'The Matrix homeserver refused one call, but not the token; retrying.',
          refusal,
        );
      } catch (error) {
        if (!(error instanceof ChannelError) || !isTokenError(error)) return refusal;
      }
    }
    this.#refusals.note();
    return tokenRefused(this.#refusals, BAD_TOKEN, refusal);
  }
}

/** Returns the answer, whatever its status. Throws `ChannelError` with `LostAnswer` as its cause, or the signal's reason. */
async function openRequest({
  url,
  body,
  silenceMs,
  signal,
  late,
  ...more
}: RawRequest): Promise<IncomingMessage> {
  signal?.throwIfAborted();
  const options = {
    ...more,
    agent: url.protocol === 'http:' ? agents.http : agents.https,
    headers: { ...more.headers, ...(body !== undefined && { 'content-length': String(body.length) }) },
    timeout: silenceMs,
    signal: AbortSignal.any([signal ?? [], late ?? []].flat()),
  };
  return await openResponse(url, options, body, (error) =>
    signal?.aborted === true ? signal.reason : lost(error),
  );
}

/** The whole body of an answer as text. Throws like `openRequest`, and `ChannelError` for one that is too long. */
async function readBody(response: IncomingMessage): Promise<string> {
  try {
    return await readText(response);
  } catch (error) {
    if (!(error instanceof LongAnswer)) throw lost(error);
    throw channelUnavailable('The Matrix homeserver gave an answer that is too large to read.', error);
  }
}

/** Includes only the code of the cause: its request contains the token. */
function lost(error: unknown): Error {
  const code = errorCode(error);
  const suffix = code && ` (${code})`;
  const text = `The Matrix homeserver cannot be reached${suffix}; the call is tried again.`;
  return channelUnavailable(text, new LostAnswer(`no answer${suffix}`));
}

/** The code in the homeserver's refusal; undefined for any other failure. */
export function errcodeOf(error: unknown): string | undefined {
  const cause = error instanceof ChannelError ? error.cause : error;
  return cause instanceof Refusal ? cause.errcode : undefined;
}

function isTokenError(error: unknown): boolean {
  return TOKEN_ERRORS.has(errcodeOf(error) ?? '');
}

export function isAnswerTooLong(error: unknown): boolean {
  return error instanceof ChannelError && error.cause instanceof LongAnswer;
}

export function isAnswerLost(error: unknown): boolean {
  return error instanceof ChannelError && error.cause instanceof LostAnswer;
}

/** The error for an answer that is not a success. */
export function refusalOf(
  status: number,
  body: unknown,
  retryAfter: string | undefined,
  now: number,
): ChannelError {
  const { data } = Body.safeParse(body);
  const cause = new Refusal(status, /^[A-Z_]{3,60}$/.exec(data?.errcode ?? '')?.[0] ?? 'no code');
  const { errcode } = cause;
  if (status === 429 || errcode === 'M_LIMIT_EXCEEDED')
    return rateLimited(data?.retry_after_ms ?? waitOf(retryAfter, now), cause);
  if (data === undefined || status >= 500)
    return channelUnavailable(
      textRef('health.answered', { network: 'Matrix', status: String(status) }),
      cause,
    );
  if (TOKEN_ERRORS.has(errcode))
    return new ChannelError('unauthorized', BAD_TOKEN, { retryable: true, cause });
  if (errcode === 'M_RESOURCE_LIMIT_EXCEEDED')
    return channelUnavailable(textRef('health.at_limit', { network: 'Matrix' }), cause);
  const [code, message] = MEANINGS[errcode] ?? [
    'rejected',
    textRef('health.refused', { network: 'Matrix', detail: errcode }),
  ];
  return new ChannelError(code, message, { cause });
}

/** `Retry-After`: seconds, or a date. In milliseconds. */
function waitOf(header: string | undefined, now: number): number {
  if (header === undefined) return LIMIT_MS;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? LIMIT_MS : ms;
}

/** A refusal that names the wait, which applies to the whole account. `local`: no call was made. */
function rateLimited(ms: number, cause?: unknown, local = false): ChannelError {
  const retryAfterMs = Math.min(MAX_LIMIT_MS, Math.max(1, Math.ceil(ms)));
  const message = textRef('health.wait', { network: 'Matrix', ms: retryAfterMs });
  return new ChannelError('rate_limited', message, {
    retryable: true,
    retryAfterMs,
    local,
    global: true,
    cause,
  });
}
