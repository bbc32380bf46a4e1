/** Identifies the caller of a request by its token, with a limit on wrong ones. */
import type { IncomingMessage } from 'node:http';
import type { Caller, Scope } from '../../src/contracts/access.ts';
import { HttpError } from './errors.ts';
import type { WrongTokenLimiter } from './wrong-token-limiter.ts';

/** Identifies callers by their token and checks its scopes. */
export interface RequestAuthenticator {
  /** The caller behind the request. Throws `HttpError` 401, 403 or 429. */
  authorize(incoming: IncomingMessage, scope: Scope): Promise<Caller>;
  /** False once the token of an open stream has been revoked. */
  isStillValid(authorization: string): Promise<boolean>;
}

/** Makes the authenticator; it reads only the `Authorization` header. */
export function createAuthenticator(
  authenticate: (authorization: string | undefined) => Promise<Caller | undefined>,
  limiter: WrongTokenLimiter,
): RequestAuthenticator {
  /** Requests with the same header at the same time are one attempt: many clients reconnect at once after a restart. */
  const attempts = new Map<string, Promise<Caller>>();

  async function attempt(address: string, authorization: string): Promise<Caller> {
    const waitMs = limiter.takeAttempt(address, authorization);
    if (waitMs !== undefined) {
      throw new HttpError(
        429,
        'too_many_attempts',
        'Too many wrong tokens from this address; wait a moment.',
        {
          retryAfterMs: waitMs,
        },
      );
    }
    const caller = await authenticate(authorization);
    if (caller === undefined) {
      limiter.recordInvalid(authorization);
      throw unauthorized('That token is not valid. "npx parley token create NAME" makes a new one.');
    }
    limiter.recordValid(address, authorization);
    return caller;
  }

  return {
    async authorize(incoming, scope) {
      const { authorization } = incoming.headers;
      const address = incoming.socket.remoteAddress ?? 'unknown';
      if (authorization === undefined)
        throw unauthorized('Send your token in the header "Authorization: Bearer …".');
      const key = `${address} ${authorization}`;
      let made = attempts.get(key);
      if (made === undefined) {
        made = attempt(address, authorization).finally(() => attempts.delete(key));
        attempts.set(key, made);
      }
      const caller = await made;
      if (!caller.scopes.includes(scope) && !caller.scopes.includes('admin')) {
        throw new HttpError(403, 'forbidden', `This token lacks the scope "${scope}".`);
      }
      return caller;
    },
    async isStillValid(authorization) {
      return (await authenticate(authorization)) !== undefined;
    },
  };
}

function unauthorized(message: string): HttpError {
  return new HttpError(401, 'invalid_api_key', message, { param: 'authorization' });
}
