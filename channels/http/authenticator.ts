/** Identifies the caller of a request by its token; wrong tokens are counted per address. */
import type { IncomingMessage } from 'node:http';
import { type Caller, hasScope, type Scope } from '../../src/protocol/access.ts';
import type { GatewayApi } from '../../src/protocol/gateway-api.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { MAX_LIMITED_ADDRESSES, WRONG_TOKENS_PER_MINUTE } from './config.ts';
import { HttpError } from './errors.ts';
import { type Bucket, takeOne } from './limits/token-limits.ts';

/** Identifies callers by the token in `Authorization`, which is looked up before anything is counted; checks its scopes. */
export class Authenticator {
  readonly #gateway: GatewayApi;
  readonly #wrongTokens: WrongTokens;
  readonly #addressOf: (incoming: IncomingMessage) => string;

  constructor(
    gateway: GatewayApi,
    wrongTokens: WrongTokens,
    addressOf: (incoming: IncomingMessage) => string,
  ) {
    this.#gateway = gateway;
    this.#wrongTokens = wrongTokens;
    this.#addressOf = addressOf;
  }

  /** The caller behind the request, or behind another `Authorization` value that came with it. Throws `HttpError` 401, 403 or 429. */
  async authorize(
    incoming: IncomingMessage,
    scope: Scope,
    authorization = incoming.headers.authorization,
  ): Promise<Caller> {
    if (authorization === undefined)
      throw unauthorized('Send your token in the header "Authorization: Bearer …".');
    const caller = await this.#gateway.authenticate(authorization);
    if (caller === undefined) {
      const text = `That token is not valid. "${PARLEY} token create NAME" creates a new one.`;
      throw this.#wrongTokens.refusal(this.#addressOf(incoming), 'tokens', unauthorized(text));
    }
    requireScope(caller, scope);
    return caller;
  }
}

/** Throws `HttpError` 403 for a caller without the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (hasScope(caller, scope)) return;
  const text = `This token lacks the scope "${scope}"; "${PARLEY} token change ID --scope SCOPES" grants it.`;
  throw new HttpError(403, 'forbidden', text);
}

function unauthorized(message: string): HttpError {
  return new HttpError(401, 'invalid_api_key', message, { param: 'authorization' });
}

/** A token bucket per address. */
export class WrongTokens {
  readonly #buckets = new TtlCache<Bucket>(Number.POSITIVE_INFINITY, MAX_LIMITED_ADDRESSES, () => 0);
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Counts one; returns undefined while the address is within its limit, else the milliseconds until it is again. */
  count(address: string): number | undefined {
    const now = this.#monotonicMs();
    const bucket = this.#buckets.get(address) ?? { left: WRONG_TOKENS_PER_MINUTE, at: now };
    this.#buckets.set(address, bucket);
    return takeOne(bucket, WRONG_TOKENS_PER_MINUTE, now);
  }

  /** The error for a wrong `what` from this address: `error`, or 429 while there are too many of them. Counts it. */
  refusal(address: string, noun: string, error: HttpError): HttpError {
    const retryAfterMs = this.count(address);
    if (retryAfterMs === undefined) return error;
    const text = `Too many wrong ${noun} from this address; try again later.`;
    return new HttpError(429, 'too_many_attempts', text, { retryAfterMs });
  }

  get size(): number {
    return this.#buckets.size;
  }
}
