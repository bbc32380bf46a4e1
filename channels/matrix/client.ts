/** Calls of the client-server API: throws every limit and failure at once as `ChannelError`; no call waits or is repeated here. */
import { textRef } from '../../src/protocol/texts/say.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { tokenHealth, tokenRefusals, tokenRefused } from '../../src/protocol/channel-parts.ts';
import { type Refusals, RetryAfterPauses } from '../../src/lib/async/call-gate.ts';
import { BAD_TOKEN, isTokenError, LostAnswer, rateLimited, refusalOf } from './errors.ts';
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { parseJson } from '../../src/lib/json/json.ts';

interface RawRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT';
  headers: Record<string, string>;
  body?: Uint8Array | undefined;
  /** A connection that transfers nothing for this long is closed, in milliseconds. */
  silenceMs: number;
  signal?: AbortSignal | undefined;
}

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 10_000;
/** Largest answer that is read: a sync after a long outage for a bot in many rooms. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Failed calls in a row after which the homeserver counts as unreachable. */
const MAX_FAILURES = 3;
/** Maximum number of call kinds whose limits are remembered; there are fewer kinds than that. */
const MAX_PAUSES = 100;

export interface ClientConfig {
  /** Address of the homeserver: `https://matrix.example.org`. */
  url: string;
  /** Secret. */
  token: string;
  /** Epoch milliseconds, for comparison with the homeserver's dates. */
  epochNow: () => number;
  /** The clock that measures waits. */
  monotonicMs: () => number;
}

export interface Call {
  query?: Record<string, string>;
  /** Sent as JSON; bytes are sent unchanged. */
  body?: object | Uint8Array;
  contentType?: string;
  silenceMs?: number;
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
  #failures = 0;

  constructor({ url, token, epochNow, monotonicMs }: ClientConfig) {
    this.#root = url.replace(/\/$/, '');
    this.#headers = { authorization: `Bearer ${token}` };
    this.#epochNow = epochNow;
    this.#pauses = new RetryAfterPauses(MAX_PAUSES, monotonicMs);
    this.#refusals = tokenRefusals(monotonicMs);
  }

  /** Makes one call; returns the JSON of the answer. Throws `ChannelError`, or the signal's reason. */
  async call(method: 'GET' | 'POST' | 'PUT', path: string, call: Call = {}): Promise<unknown> {
    const { limit = path } = call;
    const left = this.#pauses.left(limit);
    if (left > 0) throw rateLimited(left, undefined, true);
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
  async open(path: string, { silenceMs = ANSWER_MS, signal }: Pick<Call, 'silenceMs' | 'signal'>) {
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
      parseJson(await readBody(response, MAX_ANSWER_BYTES)),
      response.headers['retry-after'],
      this.#epochNow(),
    );
  }

  /** Health according to the calls so far: undefined while all is well. */
  get health(): ChannelHealth | undefined {
    const refused = tokenHealth(this.#refusals, BAD_TOKEN);
    if (refused !== undefined || this.#failures < MAX_FAILURES) return refused;
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
    const response = await openRequest({ url, method, headers, body: bytes, silenceMs, signal });
    const answer = parseJson(await readBody(response, MAX_ANSWER_BYTES));
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
          'The Matrix homeserver refused one call, but not the token; the call is tried again.',
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

/**
 * Returns the answer, whatever its status. Throws `ChannelError` with `LostAnswer` as its cause, or the signal's
 * reason.
 */
async function openRequest({ url, body, silenceMs, signal, ...more }: RawRequest): Promise<IncomingMessage> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isPlain = url.protocol === 'http:';
  const options = {
    ...more,
    agent: isPlain ? agents.http : agents.https,
    headers: { ...more.headers, ...(body !== undefined && { 'content-length': String(body.length) }) },
    timeout: silenceMs,
    ...(signal !== undefined && { signal }),
  };
  const call: ClientRequest = (isPlain ? httpRequest : httpsRequest)(url, options);
  call.on('timeout', () => call.destroy(new Error('nothing came')));
  call.on('response', resolve);
  call.on('error', (error) => reject(signal?.aborted === true ? signal.reason : lost(error)));
  call.end(body);
  return await promise;
}

/** The whole body of an answer as text. Throws like `openRequest`, and `ChannelError` if it exceeds `maxBytes`. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) break;
    }
  } catch (error) {
    throw lost(error);
  }
  if (bytes > maxBytes)
    throw channelUnavailable('The Matrix homeserver gave an answer that is too large to read.');
  return Buffer.concat(chunks).toString('utf8');
}

/** Includes only the name of the cause: its request contains the token. */
function lost(error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  const what = `The Matrix homeserver cannot be reached${code}; the call is tried again.`;
  return channelUnavailable(what, new LostAnswer(`no answer${code}`));
}
