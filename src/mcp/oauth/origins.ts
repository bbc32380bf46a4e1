/** Which addresses a server can make the gateway ask for its sign-in: those at which a person has signed in, and no others. */
import type { FetchLike } from '@modelcontextprotocol/client';
import { GatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { isPlain, type Login } from './logins.ts';

/** What belongs to a connection over HTTP. */
interface HttpServer {
  name: string;
  url: string;
  /** As configured: for the server alone. */
  headers: Readonly<Record<string, string>>;
}

/**
 * The same `fetch` for a server whose answers may name any address: it reaches the server's own origin and those of the
 * sign-in, gives the configured headers to the server alone, and the refresh token to where it came from. `signedIn`
 * returns the sign-in as it is now. Throws `GatewayError('login_needed')` for everything else.
 */
export function confined(
  request: FetchLike,
  server: HttpServer,
  signedIn: () => Login | undefined,
): FetchLike {
  const serverOrigin = new URL(server.url).origin;
  return async (url, init = {}) => {
    const address = new URL(url);
    const login = signedIn();
    if (isRefresh(init.body) && !mayGetToken(address, login)) throw elsewhere(server.name, address);
    if (address.origin === serverOrigin) return await request(url, init);
    if (!originsOf(login).includes(address.origin)) throw elsewhere(server.name, address);
    return await request(url, { ...init, headers: without(init.headers, server.headers) });
  };
}

/**
 * The same for the sign-in itself, and what to store with it: it reaches nothing without encryption but this machine, and
 * a server with encryption cannot lead it there.
 */
export function recorded(
  request: FetchLike,
  serverUrl: string,
): { request: FetchLike; record: Pick<Login, 'origins' | 'tokenUrl'> } {
  const { origin: serverOrigin, protocol } = new URL(serverUrl);
  const origins: string[] = [serverOrigin];
  const record: Pick<Login, 'origins' | 'tokenUrl'> = { origins };
  return {
    record,
    async request(url, init = {}) {
      const address = new URL(url);
      if (isPlain(address.href)) throw plain(address);
      if (protocol === 'https:' && address.protocol !== 'https:') {
        const text = `The server sends the sign-in to ${address.origin}, which is not encrypted, although the server is.`;
        throw new GatewayError('login_failed', text);
      }
      if (!origins.includes(address.origin)) origins.push(address.origin);
      if (init.body instanceof URLSearchParams && init.body.has('grant_type')) record.tokenUrl = address.href;
      return await request(url, init);
    },
  };
}

/** The origins of a sign-in; of one that did not store them, that of its authorization server. */
function originsOf(login: Login | undefined): string[] {
  const issuer = URL.parse(login?.tokens.issuer ?? login?.client.issuer ?? '')?.origin;
  return login?.origins ?? (issuer === undefined ? [] : [issuer]);
}

function mayGetToken(address: URL, login: Login | undefined): boolean {
  return login?.tokenUrl === undefined
    ? originsOf(login).includes(address.origin)
    : login.tokenUrl === address.href;
}

function isRefresh(body: RequestInit['body']): boolean {
  return body instanceof URLSearchParams && body.has('refresh_token');
}

/** The headers without those that were configured for the server; the client may send its own of the same name. */
function without(headers: RequestInit['headers'], configured: HttpServer['headers']): Headers {
  const rest = new Headers(headers);
  for (const [name, value] of Object.entries(configured))
    if (rest.get(name) === value.trim()) rest.delete(name);
  return rest;
}

/** The error for an address where `isPlain`. */
export function plain({ origin }: URL): GatewayError {
  const text = `A sign-in at ${origin} is not encrypted, so anyone on the way could read its code and tokens. Use an address with https, or reach the server through a tunnel to this machine (http://localhost).`;
  return new GatewayError('login_failed', text);
}

function elsewhere(name: string, { origin }: URL): GatewayError {
  const text = `The server sends its sign-in to ${origin}, where nobody has signed in: if that is right, run "${PARLEY} mcp login ${name}".`;
  return new GatewayError('login_needed', text, { retryable: true });
}
