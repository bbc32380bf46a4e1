/** Who is calling: the names a request may use for this door, the origin it comes from, and the token it carries. */
import type { IncomingMessage } from 'node:http';
import type { Caller, Scope } from '../../src/contracts/access.ts';
import type { WrongTokenLimiter } from './attempts.ts';
import type { HttpConfig } from './config.ts';
import { HttpFault } from './errors.ts';

/** The exact `Host` and `Origin` values that are answered. */
export interface AllowList {
  hosts: ReadonlySet<string>;
  origins: ReadonlySet<string>;
}

/** Loopback names with the port really listened on, the configured host, and what the configuration adds. */
export function allowList(config: HttpConfig, port: number): AllowList {
  const bracketed = config.host.includes(':') ? `[${config.host}]` : config.host;
  const names = new Set(['127.0.0.1', 'localhost', '[::1]', bracketed.toLowerCase()]);
  const own = [...names].flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
  return {
    hosts: new Set([...own, ...config.allowedHosts.map((host) => host.toLowerCase())]),
    origins: new Set([
      ...own.map((host) => `http://${host}`),
      ...config.allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, '')),
    ]),
  };
}

/** Headers that decide who may do what: sent twice, two readers could disagree on which one counts. */
const ONCE = new Set(['host', 'origin', 'authorization', 'content-type', 'idempotency-key', 'x-session-id']);

/** Throws an `HttpFault` for a request by another name (DNS rebinding), from another site, or with a header sent twice. */
export function checkHeaders(incoming: IncomingMessage, allowed: AllowList): void {
  const seen = new Set<string>();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i]!.toLowerCase();
    if (!ONCE.has(name)) continue;
    if (seen.has(name))
      throw new HttpFault(400, 'repeated_header', `The header ${name} was sent twice.`, { param: name });
    seen.add(name);
  }
  const { host, origin } = incoming.headers;
  if (!allowed.hosts.has((host ?? '').toLowerCase())) {
    throw new HttpFault(
      421,
      'host_not_allowed',
      'This gateway does not answer to that Host. Add it to channels.http.allowedHosts in config.json, exactly as it is sent.',
      { param: 'host' },
    );
  }
  if (origin !== undefined && !allowed.origins.has(origin.toLowerCase())) {
    throw new HttpFault(
      403,
      'origin_not_allowed',
      'Pages of that origin may not call this gateway. Add it to channels.http.allowedOrigins in config.json.',
      { param: 'origin' },
    );
  }
}

/** Finds out who calls, and whether the token may do this. */
export interface RequestAuthenticator {
  /** Throws `HttpFault` 401, 403 or 429. */
  admit(incoming: IncomingMessage, scope: Scope): Promise<Caller>;
  /** Does the token behind a stream that is already open still hold? */
  stillHolds(authorization: string): Promise<boolean>;
}

/** Makes the doorkeeper; only the `Authorization` header is ever looked at. */
export function createDoorkeeper(
  authenticate: (authorization: string | undefined) => Promise<Caller | undefined>,
  limiter: WrongTokenLimiter,
): RequestAuthenticator {
  /** Requests that carry the same header at the same time are one attempt: a crowd that a restart sends is no guessing. */
  const attempts = new Map<string, Promise<Caller>>();

  async function attempt(address: string, authorization: string): Promise<Caller> {
    const waitMs = limiter.take(address, authorization);
    if (waitMs !== undefined) {
      throw new HttpFault(
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
      limiter.disproved(authorization);
      throw noToken('That token is not valid. "npx parley token create NAME" makes a new one.');
    }
    limiter.proved(address, authorization);
    return caller;
  }

  return {
    async admit(incoming, scope) {
      const { authorization } = incoming.headers;
      const address = incoming.socket.remoteAddress ?? 'unknown';
      if (authorization === undefined)
        throw noToken('Send your token in the header "Authorization: Bearer …".');
      const key = `${address} ${authorization}`;
      let made = attempts.get(key);
      if (made === undefined) {
        made = attempt(address, authorization).finally(() => attempts.delete(key));
        attempts.set(key, made);
      }
      const caller = await made;
      if (!caller.scopes.includes(scope) && !caller.scopes.includes('admin')) {
        throw new HttpFault(403, 'forbidden', `This token lacks the scope "${scope}".`);
      }
      return caller;
    },
    async stillHolds(authorization) {
      return (await authenticate(authorization)) !== undefined;
    },
  };
}

function noToken(message: string): HttpFault {
  return new HttpFault(401, 'invalid_api_key', message, { param: 'authorization' });
}
