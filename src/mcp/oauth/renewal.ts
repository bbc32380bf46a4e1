/** The sign-in of a running gateway: it is renewed while the server allows that, and nobody is there to sign in anew. */
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientMetadata } from '@modelcontextprotocol/sdk/shared/auth.js';
import { GatewayError } from '../../contracts/errors.ts';
import type { Logins } from './logins.ts';
import { PARLEY } from '../../contracts/texts/parley.ts';

/** The error for a server at which somebody must sign in first. */
export function loginNeeded(name: string): GatewayError {
  return new GatewayError('login_needed', `The server wants a sign-in: run "${PARLEY} mcp login ${name}".`, {
    retryable: true,
  });
}

/** What the gateway says of itself to authorization servers. */
export function clientMetadata(redirectUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Parley',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** Nobody is ever sent there. */
const NOWHERE = 'http://127.0.0.1/callback';

/** The provider for a connection; undefined where nobody has signed in. Its methods throw `GatewayError('login_needed')`. */
export function renewal(logins: Logins, name: string, url: string): OAuthClientProvider | undefined {
  let login = logins.read(name, url);
  if (login === undefined) return undefined;
  const first = login;
  let stamp = logins.stamp(name);
  /** Another connection or worker may have renewed it: with what is in the file now. */
  const readAgain = (): void => {
    const now = logins.stamp(name);
    if (now === stamp) return;
    stamp = now;
    login = logins.read(name, url) ?? login;
  };
  return {
    redirectUrl: NOWHERE,
    clientMetadata: clientMetadata(NOWHERE),
    clientInformation: () => first.client,
    tokens() {
      readAgain();
      return login?.tokens;
    },
    saveTokens(tokens) {
      login = { ...first, tokens };
      logins.save(name, login);
      stamp = logins.stamp(name);
    },
    invalidateCredentials(scope) {
      if (scope === 'verifier' || scope === 'discovery') return;
      const refused = login?.tokens.refresh_token;
      readAgain();
      if (scope === 'tokens' && login?.tokens.refresh_token !== refused) return;
      logins.remove(name);
      throw loginNeeded(name);
    },
    redirectToAuthorization() {
      throw loginNeeded(name);
    },
    saveCodeVerifier: () => undefined,
    codeVerifier() {
      throw loginNeeded(name);
    },
  };
}
