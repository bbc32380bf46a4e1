/**
 * The sign-in of a running gateway: it is renewed as long as the server allows that, because no one is there to sign
 * in again.
 */
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientMetadata } from '@modelcontextprotocol/sdk/shared/auth.js';
import { GatewayError } from '../../protocol/errors.ts';
import type { Logins } from './logins.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** The error for a server that someone must sign in to first. */
export function loginNeeded(name: string): GatewayError {
  return new GatewayError(
    'login_needed',
    `The server requires a sign-in: run "${PARLEY} mcp login ${name}".`,
    {
      retryable: true,
    },
  );
}

/** What the gateway tells authorization servers about itself. */
export function clientMetadata(redirectUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Parley',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** No one is ever sent there. */
const NOWHERE = 'http://127.0.0.1/callback';

/** The provider for a connection; undefined if no one has signed in. Its methods throw `GatewayError('login_needed')`. */
export function renewal(logins: Logins, name: string, url: string): OAuthClientProvider | undefined {
  let login = logins.read(name, url);
  if (login === undefined) return undefined;
  const first = login;
  let stamp = logins.stamp(name);
  /** Another connection or worker may have renewed it: continue with what the file contains now. */
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
