/** Identifies the caller of a request by its token; attempts with wrong tokens are limited. */
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
  /** Simultaneous requests with the same header are one attempt: after a restart many clients reconnect at once. */
  const attempts = new Map<string, Promise<Caller>>();

  async function attempt(address: string, authorization: string): Promise<Caller> {
    const waitMs = limiter.takeAttempt(address, authorization);
    if (waitMs !== undefined) {
      throw new HttpError(
        429,
        'too_many_attempts',
        'Too many wrong tokens from this address; try again later.',
        {
          retryAfterMs: waitMs,
        },
      );
    }
    const caller = await authenticate(authorization);
    if (caller === undefined) {
      limiter.recordInvalid(authorization);
      throw unauthorized('That token is not valid. "npx parley token create NAME" creates a new one.');
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
