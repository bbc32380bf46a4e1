/**
 * The route by which the page signs in a user whom an identity proxy has let in: no form, no token, the same cookie as
 * by a link.
 */
import { MAX_PROXY_USER, PROXY_SIGN_IN_MS } from '../../../src/protocol/operator/sign-in.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { cookieSecret, refuseOtherPages, sessionCookie } from './cookie.ts';

/** The gateways that have already logged a stranger that sends the header. */
const warned = new WeakSet<HandlerDeps['gateway']>();

/**
 * Begins a session for the user whom a trusted proxy names, or keeps the browser's own. If no user is named in a way
 * that counts, the answer says why, and the page asks for a token. Throws `HttpError` 400 for a header that names no
 * user clearly, 403 for a user who may not sign in.
 */
export async function signInByProxy(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming } = c.env;
  refuseOtherPages(incoming);
  const header = deps.gateway.signIns.proxyHeader();
  if (header === undefined)
    return c.json({ signedIn: false, reason: 'proxySignIn in config.json is not set.' });
  const values = incoming.headersDistinct[header] ?? [];
  if (!deps.isFromProxy(incoming)) {
    if (values.length > 0) noteIgnored(deps, incoming.socket.remoteAddress);
    const reason = 'This connection does not come from one of channels.http.trustedProxies.';
    return c.json({ signedIn: false, reason });
  }
  if (values.length === 0) return c.json({ signedIn: false, reason: `The proxy sends no header ${header}.` });
  const asked = {
    user: userIn(header, values),
    client: incoming.headers['user-agent'] ?? '',
    current: cookieSecret(incoming),
  };
  const result = await deps.gateway.signIns.byProxy(asked);
  if (result.kind === 'refused') throw new HttpError(403, result.code, result.text, { param: header });
  c.header('set-cookie', sessionCookie(incoming, result.secret, PROXY_SIGN_IN_MS));
  return c.json({ signedIn: true });
}

/** The one user that the values name; their bytes are UTF-8. */
function userIn(header: string, values: readonly string[]): string {
  const refuse = (why: string): HttpError =>
    new HttpError(400, 'bad_proxy_user', `The proxy's header ${header} ${why}.`, { param: header });
  const [value = ''] = values;
  if (values.length > 1) throw refuse('comes twice: the proxy must replace what the client sends');
  const user = Buffer.from(value, 'latin1').toString('utf8').trim();
  if (user === '') throw refuse('is empty');
  if (user.length > MAX_PROXY_USER) throw refuse(`is longer than ${MAX_PROXY_USER} characters`);
  return user;
}

function noteIgnored({ gateway, log }: HandlerDeps, address: string | undefined): void {
  if (warned.has(gateway)) return;
  warned.add(gateway);
  log.warn({ address }, 'proxy_user_ignored');
}
