/** Identifies the caller of a request by its token; wrong tokens are counted per address. */
import type { IncomingMessage } from 'node:http';
import { type Caller, hasScope, type Scope } from '../../src/protocol/access.ts';
import { HttpError } from './errors.ts';
import type { WrongTokens } from './limits/wrong-tokens.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';

/** Identifies callers by their token and checks its scopes. */
export interface RequestAuthenticator {
  /** The caller behind the request, or behind another `Authorization` value that came with it. Throws `HttpError` 401, 403 or 429. */
  authorize(incoming: IncomingMessage, scope: Scope, authorization?: string): Promise<Caller>;
}

export interface AuthenticatorDeps {
  /** The caller behind an `Authorization` header's value. */
  authenticate: (authorization: string | undefined) => Promise<Caller | undefined>;
  wrongTokens: WrongTokens;
  /** The client's address, as limits count it. */
  addressOf: (incoming: IncomingMessage) => string;
}

/**
 * Makes the authenticator; it reads only the `Authorization` header. Every token is looked up before anything is
 * counted: the right token gets in, whatever others send from the same address.
 */
export function createAuthenticator({
  authenticate,
  wrongTokens,
  addressOf,
}: AuthenticatorDeps): RequestAuthenticator {
  return {
    async authorize(incoming, scope, authorization = incoming.headers.authorization) {
      if (authorization === undefined)
        throw unauthorized('Send your token in the header "Authorization: Bearer …".');
      const caller = await authenticate(authorization);
      if (caller === undefined) {
        const waitMs = wrongTokens.count(addressOf(incoming));
        throw waitMs === undefined
          ? unauthorized(`That token is not valid. "${PARLEY} token create NAME" creates a new one.`)
          : new HttpError(
              429,
              'too_many_attempts',
              'Too many wrong tokens from this address; try again later.',
              {
                retryAfterMs: waitMs,
              },
            );
      }
      if (!hasScope(caller, scope)) {
        throw new HttpError(
          403,
          'forbidden',
          `This token lacks the scope "${scope}"; "${PARLEY} token change ID --scope SCOPES" grants it.`,
        );
      }
      return caller;
    },
  };
}

function unauthorized(message: string): HttpError {
  return new HttpError(401, 'invalid_api_key', message, { param: 'authorization' });
}
