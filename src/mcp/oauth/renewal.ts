/** The sign-in of a running gateway, renewed as long as the server allows: no one is there to sign in again. */
import type { FetchLike, OAuthClientMetadata, OAuthClientProvider } from '@modelcontextprotocol/client';
import { GatewayError } from '../../protocol/errors.ts';
import type { Logins } from './logins.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** The error for a server that someone must sign in to first. */
export function loginNeeded(name: string): GatewayError {
  const text = `The server requires a sign-in: run "${PARLEY} mcp login ${name}".`;
  return new GatewayError('login_needed', text, { retryable: true });
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
    const newStamp = logins.stamp(name);
    if (newStamp === stamp) return;
    stamp = newStamp;
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
      // The client notes with old tokens who it takes for their issuer: the server can say anything, so that is not stored.
      if (tokens.access_token === login?.tokens.access_token) return;
      login = { ...first, tokens };
      logins.save(name, login);
      stamp = logins.stamp(name);
    },
    invalidateCredentials(scope) {
      if (scope === 'verifier' || scope === 'discovery') return;
      const refusedToken = login?.tokens.refresh_token;
      readAgain();
      if (scope === 'tokens' && login?.tokens.refresh_token !== refusedToken) return;
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

interface Answer {
  status: number;
  headers: [string, string][];
  text: string;
}

/**
 * The same `fetch`, but requests with the refresh token in use, or used last, share the first answer: servers that rotate
 * these tokens treat a second use as theft. Later requests do not share a refusal.
 */
export function refreshOnce(request: FetchLike): FetchLike {
  let last: { token: string; answer: Promise<Answer> } | undefined;
  return async (url, init) => {
    const token = refreshTokenOf(init?.body);
    if (token === undefined) return await request(url, init);
    if (last?.token !== token) {
      const renewed = { token, answer: readAnswer(request, url, init) };
      last = renewed;
      const forget = (): void => {
        if (last === renewed) last = undefined;
      };
      renewed.answer.then(({ status }) => (status < 400 ? undefined : forget()), forget);
    }
    const { status, headers, text } = await last.answer;
    return new Response(text, { status, headers });
  };
}

async function readAnswer(request: FetchLike, ...call: Parameters<FetchLike>): Promise<Answer> {
  const response = await request(...call);
  return { status: response.status, headers: [...response.headers], text: await response.text() };
}

function refreshTokenOf(body: RequestInit['body']): string | undefined {
  if (!(body instanceof URLSearchParams) || body.get('grant_type') !== 'refresh_token') return undefined;
  return body.get('refresh_token') ?? undefined;
}
