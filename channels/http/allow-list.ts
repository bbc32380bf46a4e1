/** The `Host` and `Origin` values that are accepted; others (DNS rebinding, other sites) are refused. */
import type { IncomingMessage } from 'node:http';
import { isWildcard, networkAddresses, urlOfListener } from '../../src/lib/connection-url.ts';
import { type HttpConfig, MAX_ASKED_HEADERS } from './config.ts';
import { HttpError } from './errors.ts';
import type { HttpContext } from './route.ts';

/** The exact values, in lower case. */
export interface AllowList {
  hosts: ReadonlySet<string>;
  origins: ReadonlySet<string>;
  /** The port in use where the gateway listens on all interfaces: their addresses, which may change, are accepted with it. */
  openPort?: number | undefined;
}

/**
 * Allows loopback names and the configured host with the port in use, and the values of the configuration. Where the gateway
 * listens on all interfaces, also their literal addresses: DNS rebinding, which the check of `Host` prevents, needs a name.
 */
export function allowList(config: HttpConfig, port: number): AllowList {
  const bracketed = config.host.includes(':') ? `[${config.host}]` : config.host;
  const names = new Set(['127.0.0.1', 'localhost', '[::1]', bracketed.toLowerCase()]);
  const ownHosts = [...names].flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
  return {
    hosts: new Set([...ownHosts, ...config.allowedHosts.map((host) => host.toLowerCase())]),
    origins: new Set([
      ...ownHosts.map((host) => `http://${host}`),
      ...config.allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, '')),
    ]),
    openPort: isWildcard(config.host) ? port : undefined,
  };
}

/** Headers that decide what is allowed; if one is repeated, a proxy and this server could read different values. */
const SENT_ONCE = new Set([
  'host',
  'origin',
  'authorization',
  'cookie',
  'content-type',
  'idempotency-key',
  'x-session-id',
]);

/** Throws `HttpError` 421 for another host, 403 for another origin, 400 for a repeated header, 401 for a session in a header. */
export function checkHeaders(incoming: IncomingMessage, list: AllowList): void {
  const names = new Set<string>();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i]!.toLowerCase();
    if (!SENT_ONCE.has(name)) continue;
    if (names.has(name))
      throw new HttpError(400, 'repeated_header', `The header ${name} was sent twice.`, { param: name });
    names.add(name);
  }
  const { host, origin, authorization = '' } = incoming.headers;
  // Written here, for a cookie and a ticket, and never accepted from outside: a stolen cookie is no token.
  if (/^session\b/i.test(authorization.trim())) {
    const text = 'Send a token in "Authorization: Bearer …": sessions belong to browsers that signed in.';
    throw new HttpError(401, 'invalid_api_key', text, { param: 'authorization' });
  }
  if (!isAllowedHost(list, (host ?? '').toLowerCase())) {
    const name = /^[\w.:[\]-]{1,260}$/.test(host ?? '') ? ` "${host}"` : '';
    const message = `This gateway does not answer to the Host${name}. To allow it, add exactly that to channels.http.allowedHosts in config.json.`;
    throw new HttpError(421, 'host_not_allowed', message, { param: 'host' });
  }
  if (origin !== undefined && !isAllowedOrigin(list, origin.toLowerCase())) {
    const text =
      'Pages of that origin are not allowed to call this gateway. Add it to channels.http.allowedOrigins in config.json.';
    throw new HttpError(403, 'origin_not_allowed', text, { param: 'origin' });
  }
}

function isAllowedHost({ hosts, openPort }: AllowList, host: string): boolean {
  return hosts.has(host) || (openPort !== undefined && networkHosts(openPort).includes(host));
}

function isAllowedOrigin({ origins, openPort }: AllowList, origin: string): boolean {
  return (
    origins.has(origin) ||
    (openPort !== undefined && networkHosts(openPort).some((host) => origin === `http://${host}`))
  );
}

/** As browsers send the addresses of this machine on its networks, with the port that they leave out and with it. */
function networkHosts(port: number): string[] {
  const hosts = networkAddresses().map((address) => urlOfListener(address, port).slice('http://'.length));
  return port === 80 ? hosts.flatMap((host) => [host, host.replace(/:80$/, '')]) : hosts;
}

/** Header names, separated by commas. */
const HEADER_NAMES = /^[\w-]+(?:, ?[\w-]+)*$/;
const READ_HEADERS =
  'authorization, content-type, idempotency-key, last-event-id, x-request-id, x-session-id';
/** The response headers that a page may read besides the content type. */
const EXPOSED_HEADERS =
  'accept-ranges, content-disposition, content-range, etag, retry-after, ' +
  'x-omitted-tools, x-request-id, x-should-retry';

/** Lets an allowed origin read the answers; returns the answer to a preflight, else undefined. */
export function allowCrossOrigin(c: HttpContext): Response | undefined {
  const { incoming, outgoing } = c.env;
  const { origin } = incoming.headers;
  if (origin === undefined) return undefined;
  outgoing.setHeader('access-control-allow-origin', origin);
  outgoing.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
  outgoing.setHeader('vary', 'Origin, Access-Control-Request-Headers');
  if (incoming.method !== 'OPTIONS') return undefined;
  return c.body(null, 204, {
    'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
    'access-control-allow-headers': askedHeaders(incoming.headers['access-control-request-headers']),
    'access-control-max-age': '600',
  });
}

/**
 * The headers that a preflight asks for: the origin is allowed, so its pages may send what they like, such as the
 * `x-stainless-*` headers of OpenAI's client. Without a list, or with a malformed one, the headers the API reads.
 */
function askedHeaders(requestedHeaders: string | undefined): string {
  const isList =
    requestedHeaders !== undefined &&
    requestedHeaders.length <= MAX_ASKED_HEADERS &&
    HEADER_NAMES.test(requestedHeaders);
  return isList ? requestedHeaders : READ_HEADERS;
}
