/** Calls to Discord's REST API: throws every limit and failure at once as `ChannelError`; no call waits or is repeated here. */
import { DefaultRestOptions, REST, type RESTOptions, Routes } from 'discord.js';
import {
  ChannelError,
  channelUnavailable,
  type GatewayError,
  isRetryable,
  messageOf,
} from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { tokenHealth, tokenRefusals, tokenRefused } from '../../src/protocol/channel-parts.ts';
import { textRef, type TextRef } from '../../src/protocol/texts/say.ts';
import type { Refusals } from '../../src/lib/async/call-gate.ts';
import { wholeAnswer } from '../../src/lib/async/http-stream.ts';
import { retryWhile } from '../../src/lib/async/retry.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { stripEnd } from '../../src/lib/text.ts';
import { BAD_TOKEN, fromTooMany, lacksPermission, rateLimited, toChannelError } from './errors.ts';

const OFFICIAL_ROOT = 'https://discord.com/api';

/** Whether Discord really refuses the bot token: a single 401 proves nothing, and a storm of them would get the address banned. */
class TokenCheck {
  readonly #refusals: Refusals;
  readonly #call: () => Promise<void>;
  #pending: Promise<void> | undefined;

  /** `call` makes one call with the token that needs no permission, and throws `ChannelError` if it fails. */
  constructor(monotonicMs: () => number, call: () => Promise<void>) {
    this.#refusals = tokenRefusals(monotonicMs);
    this.#call = call;
  }

  /** Lets a call pass while the token is good; asks Discord again when it is time. Throws `ChannelError('unauthorized')`. */
  async admit(): Promise<void> {
    if (this.#refusals.state === undefined) return;
    if (this.#refusals.leftMs === 0) await this.#verify();
    if (this.#refusals.state !== undefined) throw tokenRefused(this.#refusals, BAD_TOKEN);
  }

  /** Explains a 401: `unavailable` if the token is good nevertheless, otherwise `unauthorized`. */
  async explain(refusal: ChannelError): Promise<ChannelError> {
    await this.#verify();
    if (this.#refusals.state !== undefined) return tokenRefused(this.#refusals, BAD_TOKEN, refusal);
    return channelUnavailable(textRef('health.refused_once', { network: 'Discord' }), refusal);
  }

  /** Undefined while the token is good. */
  get health(): ChannelHealth | undefined {
    return tokenHealth(this.#refusals, BAD_TOKEN);
  }

  async #verify(): Promise<void> {
    this.#pending ??= this.#check().finally(() => {
      this.#pending = undefined;
    });
    await this.#pending;
  }

  async #check(): Promise<void> {
    try {
      await this.#call();
      this.#refusals.clear();
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      // An outage says nothing about the token: neither that it is bad nor that the next check can wait an
      // hour.
      const isRefused = error.code === 'unauthorized';
      if (isRefused || this.#refusals.state !== undefined) this.#refusals.note(isRefused);
    }
  }
}

/** Maximum number of buckets remembered; when more are needed the oldest is forgotten. */
export const MAX_PAUSES = 1_000;

/** Minimum wait after a refusal that names no time, in milliseconds; doubled after each further one, up to the cap. */
export const UNNAMED_WAIT_MS = 5_000;

const UNNAMED_CAP_MS = 60_000;

/** Refusals without a time in a row that are waited out; after those the call counts as failed. */
export const MAX_UNNAMED = 8;

interface Bucket {
  until: number;
  /** Refusals without a time since the last call that was not refused. */
  unnamed: number;
}

export class BucketPauses {
  readonly #buckets = new Map<string, Bucket>();
  readonly #monotonicNow: () => number;

  constructor(monotonicNow: () => number) {
    this.#monotonicNow = monotonicNow;
  }

  /** How many milliseconds calls in a bucket must still wait; 0 if they need not. */
  left(bucket: string): number {
    return Math.max(0, Math.ceil((this.#buckets.get(bucket)?.until ?? 0) - this.#monotonicNow()));
  }

  /** Records a refusal; returns the wait in milliseconds: `askedMs`, or our own choice until those are used up. */
  refused(bucket: string, askedMs: number | undefined): number | undefined {
    const unnamed = askedMs === undefined ? (this.#buckets.get(bucket)?.unnamed ?? 0) + 1 : 0;
    const ms = askedMs ?? Math.min(UNNAMED_CAP_MS, UNNAMED_WAIT_MS * 2 ** (unnamed - 1));
    this.#buckets.delete(bucket);
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size >= MAX_PAUSES && oldest.done !== true) this.#buckets.delete(oldest.value);
    this.#buckets.set(bucket, { until: this.#monotonicNow() + ms, unnamed });
    return unnamed > MAX_UNNAMED ? undefined : ms;
  }

  /** Records a call that was not refused. */
  passed(bucket: string): void {
    if (this.left(bucket) === 0) this.#buckets.delete(bucket);
  }
}

/** Failed calls in a row after which the REST API counts as unreachable. */
const MAX_FAILURES = 3;

/** How long a channel that refuses the bot is reported after the last refusal, in milliseconds; and how many at once. */
export const REFUSAL_KEPT_MS = 3_600_000;

const MAX_REFUSING = 100;

class RestHealth {
  readonly #refusing: TtlCache<TextRef | string>;
  #failures = 0;

  constructor(monotonicNow: () => number) {
    this.#refusing = new TtlCache(REFUSAL_KEPT_MS, MAX_REFUSING, monotonicNow);
  }

  /** Records how a call ended: undefined for success. */
  noteCall(failure: ChannelError | undefined): void {
    this.#failures = failure?.code === 'unavailable' ? this.#failures + 1 : 0;
  }

  /** Records how a message to a channel ended; true for the first refusal there for lack of a permission. */
  noteMessage(channelId: string, failure: ChannelError | undefined): boolean {
    if (failure === undefined) this.#refusing.delete(channelId);
    if (failure === undefined || !lacksPermission(failure)) return false;
    const isFirst = this.#refusing.get(channelId) === undefined;
    this.#refusing.set(channelId, messageOf(failure));
    return isFirst;
  }

  /** Undefined while all is well. */
  get health(): ChannelHealth | undefined {
    if (this.#failures >= MAX_FAILURES)
      return { state: 'degraded', detail: textRef('health.calls', { network: 'Discord', api: 'REST API' }) };
    const refusals = this.#refusing.values();
    const [first] = refusals;
    if (first === undefined) return undefined;
    const detail = textRef('health.unwritable', { count: refusals.length, why: first });
    return { state: 'degraded', detail };
  }
}

/** Longest wait for the start of an answer, and for its end, in milliseconds. */
const ANSWER_MS = 10_000;
const CALL_MS = 15_000;
/** The same for a call with a file, which must be sent first. */
const UPLOAD_MS = 120_000;

/** The clocks differ by less than this from one call to the next, unless one of them was set. */
const CLOCK_JUMP_MS = 1_000;

/** The bucket of the limit on all calls of a bot; calls with an interaction token do not count toward it. */
const ALL_CALLS = 'all';

/** A file in a call. */
export interface UploadFile {
  name: string;
  mimeType: string;
  bytes: Uint8Array<ArrayBuffer>;
}

export interface RestCall {
  method: 'get' | 'post' | 'patch' | 'put' | 'delete';
  path: `/${string}`;
  /** Name of the rate limit this call shares with others, e.g. `send 42`. */
  bucket: string;
  body?: object | undefined;
  /** Sent with `body` as a form. */
  files?: UploadFile[] | undefined;
  query?: URLSearchParams | undefined;
  /** False for interaction tokens, which are part of the path: a 401 there does not concern the bot token. */
  auth?: false;
  signal?: AbortSignal | undefined;
}

interface Clients {
  bot: REST;
  /** Calls with an interaction token are exempt from the limit that the library enforces for all calls. */
  interactions: REST;
  uploads: REST;
}

export class DiscordRest {
  readonly #apiRoot: string;
  readonly #monotonicMs: () => number;
  #clients: Clients;
  /** How far the wall clock was ahead of the monotonic one at the last call. */
  #aheadMs: number;
  /** Set for each call, because the library permanently forgets its own token after any 401. */
  readonly #headers: { Authorization: string };
  /** Kept here because the library ignores a 429 that is the first answer of a bucket. */
  readonly #pauses: BucketPauses;
  readonly #token: TokenCheck;
  readonly #health: RestHealth;

  /** `apiRoot`: of another server that implements Discord's API, without a version. */
  constructor(token: string, apiRoot: string | undefined, monotonicMs: () => number) {
    this.#apiRoot = stripEnd(apiRoot ?? OFFICIAL_ROOT, '/');
    this.#monotonicMs = monotonicMs;
    this.#clients = openClients(this.#apiRoot);
    this.#aheadMs = Date.now() - monotonicMs();
    this.#headers = { Authorization: `Bot ${token}` };
    this.#pauses = new BucketPauses(monotonicMs);
    this.#health = new RestHealth(monotonicMs);
    this.#token = new TokenCheck(monotonicMs, async () => {
      await this.#send({ method: 'get', path: Routes.user(), bucket: 'me' }).catch((error: unknown) => {
        throw toChannelError(error);
      });
    });
  }

  /** Health according to the calls so far: undefined while all is well. */
  get health(): ChannelHealth | undefined {
    return this.#token.health ?? this.#health.health;
  }

  /** Records how a message to a channel ended; true for the first refusal there for lack of a permission. */
  noteMessage(channelId: string, failure: ChannelError | undefined): boolean {
    return this.#health.noteMessage(channelId, failure);
  }

  /** Reads something; returns the JSON of the answer. Throws `ChannelError`. */
  async get(path: `/${string}`, bucket: string, signal?: AbortSignal): Promise<unknown> {
    return await this.call({ method: 'get', path, bucket, signal });
  }

  /** Makes one call; returns the JSON of the answer. Throws `ChannelError`. */
  async call(call: RestCall): Promise<unknown> {
    const { bucket, auth } = call;
    const isBot = auth !== false;
    const waitMs = Math.max(this.#pauses.left(bucket), isBot ? this.#pauses.left(ALL_CALLS) : 0);
    if (waitMs > 0) throw rateLimited(waitMs, { local: true });
    if (isBot) await this.#token.admit();
    try {
      const answer = await this.#send(call);
      this.#pauses.passed(bucket);
      this.#health.noteCall(undefined);
      return answer;
    } catch (error) {
      const failure = await this.#explain(toChannelError(error), call);
      this.#health.noteCall(failure);
      throw failure;
    }
  }

  async #send({ method, path, body, files, query, auth, signal }: RestCall): Promise<unknown> {
    const limit = AbortSignal.timeout(files === undefined ? CALL_MS : UPLOAD_MS);
    const isBot = auth !== false;
    const { bot, interactions, uploads } = this.#current();
    const client = files !== undefined ? uploads : isBot ? bot : interactions;
    const form = files && (await formOf(body, files));
    return await client[method](path, {
      ...(query && { query }),
      ...(form ? { body: form.bytes, passThroughBody: true } : body && { body }),
      headers: { ...(isBot ? this.#headers : {}), ...(form && { 'Content-Type': form.type }) },
      auth: false,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
  }

  /** New ones after a jump of the wall clock, by which the library measures its waits: it would refuse calls for as long. */
  #current(): Clients {
    const aheadMs = Date.now() - this.#monotonicMs();
    if (Math.abs(aheadMs - this.#aheadMs) > CLOCK_JUMP_MS) this.#clients = openClients(this.#apiRoot);
    this.#aheadMs = aheadMs;
    return this.#clients;
  }

  async #explain(failure: ChannelError, { bucket, auth }: RestCall): Promise<ChannelError> {
    if (failure.code === 'unauthorized' && auth !== false) return await this.#token.explain(failure);
    if (failure.code !== 'rate_limited' || failure.local) return failure;
    const { global, cause } = failure;
    const retryAfterMs = this.#pauses.refused(global ? ALL_CALLS : bucket, failure.retryAfterMs);
    return retryAfterMs === undefined
      ? channelUnavailable('Discord keeps refusing this call.', failure)
      : rateLimited(retryAfterMs, { global, cause });
  }
}

function openClients(apiRoot: string): Clients {
  const options: Partial<RESTOptions> = {
    api: apiRoot,
    // The library's three silent retries would double messages and hide outages; delivery decides what to retry.
    retries: 0,
    rejectOnRateLimit: () => true,
    timeout: ANSWER_MS,
    makeRequest: refuseTooMany,
  };
  const unlimited = { ...options, globalRequestsPerSecond: Number.POSITIVE_INFINITY };
  return {
    bot: new REST(options),
    interactions: new REST(unlimited),
    uploads: new REST({ ...unlimited, timeout: UPLOAD_MS }),
  };
}

/**
 * A form as Discord reads it, whole. The library would create one of Node's forms, which its own HTTP client refuses
 * if another package has brought in a client of another version.
 */
async function formOf(
  body: object | undefined,
  files: readonly UploadFile[],
): Promise<{ bytes: Buffer; type: string }> {
  const form = new FormData();
  for (const [index, { name, mimeType, bytes }] of files.entries())
    form.append(`files[${index}]`, new Blob([bytes], { type: mimeType }), name);
  form.append('payload_json', JSON.stringify(body ?? {}));
  const whole = new Response(form);
  return { bytes: Buffer.from(await whole.arrayBuffer()), type: whole.headers.get('content-type') ?? '' };
}

/** The library's own request, but within its limit of time the answer arrives whole, and a 429 is thrown: the library reads neither the time nor the reason in the body. */
const refuseTooMany: RESTOptions['makeRequest'] = async (url, init) => {
  const whole: unknown = await wholeAnswer(await DefaultRestOptions.makeRequest(url, init));
  // Streams have other types in the undici that the library names, and nobody reads this one as a stream.
  const response = whole as Awaited<ReturnType<RESTOptions['makeRequest']>>;
  if (response.status !== 429) return response;
  throw await fromTooMany(response);
};

/** Does the work, and repeats it while its error is transient. Throws the last error, or the signal's reason. */
export async function retryTransient<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return await retryWhile(isTransientError, work, signal);
}

/** True if the same call may succeed soon; a missing permission must be granted by people. */
export function isTransientError(error: unknown): error is GatewayError {
  return isRetryable(error) && error.code !== 'blocked';
}
