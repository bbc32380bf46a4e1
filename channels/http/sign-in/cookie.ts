/** The cookie of a browser that signed in by a link: who it identifies, and which requests it may be used for. */
import type { IncomingMessage } from 'node:http';
import { SIGN_IN_MS } from '../../../src/protocol/operator/sign-in.ts';
import { HttpError } from '../errors.ts';

/** The page sends this header with each request; a form or link of another site cannot. */
const PAGE_HEADER = 'x-parley-page';
/** Longest value that is read, in UTF-16 units. */
const MAX_SECRET = 100;

/** The name: browsers share cookies between the ports of a host, so it includes the port. */
function nameFor({ headers }: IncomingMessage): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1];
  return port === undefined ? 'parley_session' : `parley_session_${port}`;
}

/** The secret in the request's cookie; undefined without one. */
export function cookieSecret(incoming: IncomingMessage): string | undefined {
  const name = nameFor(incoming);
  for (const pair of (incoming.headers.cookie ?? '').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name && value.length <= MAX_SECRET && /^[\w-]+$/.test(value)) return value;
  }
  return undefined;
}

/** The `set-cookie` value that begins a session, or with '' ends it. */
export function sessionCookie(incoming: IncomingMessage, secret: string, forMs = SIGN_IN_MS): string {
  const age = secret === '' ? 0 : Math.floor(forMs / 1_000);
  const secure = incoming.headers.origin?.startsWith('https://') === true ? '; Secure' : '';
  return `${nameFor(incoming)}=${secret}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}

/**
 * Gives a request of the page without a token the authorization of its cookie, as if it had been sent. The cookie
 * alone, as forms, links and other sites may send it, has no effect. Throws `HttpError` 403 for a page of another
 * origin, allowed or not.
 */
export function authorizeByCookie(incoming: IncomingMessage): void {
  const { headers } = incoming;
  if (headers.authorization !== undefined || headers[PAGE_HEADER] === undefined) return;
  const secret = cookieSecret(incoming);
  if (secret === undefined) return;
  refuseOtherPages(incoming);
  headers.authorization = `Session ${secret}`;
}

/** Throws `HttpError` 403 for a request that the gateway's own page did not make. */
export function refuseOtherPages({ headers }: IncomingMessage): void {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'];
  const isOwn =
    origin === undefined || origin.replace(/^https?:\/\//, '').toLowerCase() === host.toLowerCase();
  const isSame = site === undefined || site === 'same-origin';
  if (isOwn && isSame && headers[PAGE_HEADER] !== undefined) return;
  throw new HttpError(
    403,
    'not_from_page',
    `Only the gateway's own page may sign in, and use its sign-in. Other programs send a token in "Authorization: Bearer …".`,
    { param: PAGE_HEADER },
  );
}
