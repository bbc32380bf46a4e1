/** The sign-in routes: a code for a session, the list of sessions, and their end. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { toGatewayError } from '../../../src/protocol/errors.ts';
import {
  MAX_PROXY_USER,
  PROXY_SIGN_IN_MS,
  SIGN_IN_MS,
  type SignIn,
  TICKET_MS,
} from '../../../src/protocol/operator/sign-in.ts';
import { PARLEY } from '../../../src/protocol/texts/parley.ts';
import { HttpError } from '../errors.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';

/**
 * The page sends this header with each request; a form or link of another site cannot. Its value is the page's part of
 * the session's secret: browsers send cookies to every port of a host, so the cookie has only the other part.
 */
const PAGE_HEADER = 'x-parley-page';

/** Longest part of a secret that is read. */
const MAX_PART = 100;

const MAX_TICKET = 100;
/** Longest text that a network signs, in UTF-16 units. */
const MAX_SIGNED = 8_192;

/** The gateways that have already logged a stranger that sends the header. */
const warned = new WeakSet<HandlerDeps['gateway']>();

const route = routeOf('gateway');

export const signInRoutes: readonly Route[] = [
  route('POST', '/v1/stream-tickets', 'chat', {
    summary: 'A ticket for one stream whose client cannot send headers',
    description:
      'It works once, for a minute, in the query `ticket` of `/v1/events`, `/v1/ws` or the events of a session.',
    status: 201,
    async handle(c, { gateway }) {
      if (/^session /i.test(c.env.incoming.headers.authorization ?? '')) {
        const text = 'A ticket belongs to a token: send one in "Authorization: Bearer …".';
        throw new HttpError(400, 'token_needed', text, { param: 'authorization' });
      }
      const ticket = await gateway.signIns.ticket(c.get('caller'));
      return c.json({ ticket, expiresAt: new Date(Date.now() + TICKET_MS) }, 201);
    },
  }),
  route('POST', '/v1/sign-in', 'none', {
    summary: 'Sign a browser in with the code of a link',
    description:
      'For the page: sets the cookie of a browser whose link was made with the command line, which works only with `pageKey`. A code works once.',
    answer: z.object({ signedIn: z.boolean(), pageKey: z.string() }),
    body: z.strictObject({ code: z.string().min(1).max(100) }),
    async handle(c, { gateway, wrongTokens, addressOf }, read) {
      const { incoming } = c.env;
      refuseOtherPages(incoming);
      const { code } = await read();
      const secret = await gateway.signIns.redeem(code, incoming.headers['user-agent'] ?? '');
      if (secret === undefined) {
        const text = `This link was already used or is too old. "${PARLEY} open" prints a new one.`;
        const error = new HttpError(401, 'invalid_code', text, { param: 'code' });
        throw wrongTokens.refusal(addressOf(incoming), 'codes', error);
      }
      return c.json({ signedIn: true, pageKey: begin(c, secret) });
    },
  }),
  route('POST', '/v1/sign-in/proxy', 'none', {
    summary: 'Sign this browser in as the user whom a trusted proxy names',
    description:
      'For the page behind an identity proxy: `signedIn` is false, with a reason, when the request does not come from that proxy or names no known user.',
    answer: z.object({
      signedIn: z.boolean(),
      pageKey: z.string().optional(),
      reason: z.string().optional(),
    }),
    /**
     * Begins a session for the user whom a trusted proxy names, or keeps the browser's own. If no user is named in a way
     * that counts, the answer says why, and the page asks for a token. Throws `HttpError` 400 for a header that names no
     * user clearly, 403 for a user who may not sign in.
     */
    async handle(c, deps) {
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
      if (values.length === 0)
        return c.json({ signedIn: false, reason: `The proxy sends no header ${header}.` });
      const request = {
        user: userIn(header, values),
        client: incoming.headers['user-agent'] ?? '',
        current: sessionSecret(incoming),
      };
      const result = await deps.gateway.signIns.byProxy(request);
      if (result.kind === 'refused') throw new HttpError(403, result.code, result.text, { param: header });
      return c.json({ signedIn: true, pageKey: begin(c, result.secret, PROXY_SIGN_IN_MS) });
    },
  }),
  route('POST', '/v1/sign-in/app', 'none', {
    summary: 'Sign this browser in as the person who opened the page inside the app of a network',
    description:
      "For the page as a Mini App: `data` is what the network has signed. The rights are the person's own in their private chat with the bot, for a day, never `admin`.",
    answer: z.object({ signedIn: z.boolean(), pageKey: z.string() }),
    body: z.strictObject({
      data: z.string().min(1).max(MAX_SIGNED),
      framed: z.boolean().default(false).describe("the page is in a frame of the network's web page"),
    }),
    async handle(c, { gateway, wrongTokens, addressOf }, read) {
      const { incoming } = c.env;
      refuseOtherPages(incoming);
      const { data: signed, framed: isFramed } = await read();
      const client = incoming.headers['user-agent'] ?? '';
      const result = await gateway.signIns.inApp({ signed, client });
      if (result.kind === 'signed_in')
        return c.json({ signedIn: true, pageKey: begin(c, result.secret, PROXY_SIGN_IN_MS, isFramed) });
      const { code, text } = result;
      if (code !== 'invalid_sign_in') throw new HttpError(403, code, text);
      throw wrongTokens.refusal(
        addressOf(incoming),
        'codes',
        new HttpError(401, code, text, { param: 'data' }),
      );
    },
  }),
  route('POST', '/v1/sign-out', 'none', {
    summary: 'Sign this browser out',
    description: 'Ends the sign-in of the cookie and removes it; without one nothing happens.',
    async handle(c, { gateway }) {
      const { incoming } = c.env;
      refuseOtherPages(incoming);
      const secret = sessionSecret(incoming);
      if (secret !== undefined) await gateway.signIns.signOut(secret);
      c.header('set-cookie', sessionCookie(incoming, ''));
      return c.json({ signedIn: false });
    },
  }),
  route('GET', '/v1/sign-ins', 'chat', {
    summary: 'Browsers that are signed in',
    description:
      "Those of the token's person, with the time of their last use; `isOwn` marks the one that asks.",
    async handle(c, { gateway }) {
      const signIns = await gateway.signIns.list(c.get('caller'), sessionSecret(c.env.incoming));
      return c.json({ signIns: signIns.map(wireSignIn) });
    },
  }),
  route('DELETE', '/v1/sign-ins', 'chat', {
    summary: 'Sign out all browsers except the one that asks',
    description: 'The browser that asks stays signed in.',
    async handle(c, { gateway }) {
      const deleted = await gateway.signIns.endOthers(c.get('caller'), sessionSecret(c.env.incoming));
      return c.json({ deleted });
    },
  }),
  route('DELETE', '/v1/sign-ins/:id', 'chat', {
    summary: 'Sign one browser out',
    description: 'Its next request is refused with 401.',
    async handle(c, { gateway }) {
      const id = c.req.param('id') ?? '';
      if (!(await gateway.signIns.end(c.get('caller'), id)))
        throw new HttpError(404, 'unknown_sign_in', 'There is no such sign-in.', { param: 'id' });
      return c.json({ id, deleted: true });
    },
  }),
];

function wireSignIn({ id, proxyUser, client, createdAt, expiresAt, lastUsedAt, isOwn }: SignIn) {
  const by = proxyUser === undefined ? {} : { proxyUser };
  return { id, client, ...by, createdAt, expiresAt, lastUsedAt: lastUsedAt ?? null, isOwn };
}

/** The name: browsers share cookies between the ports of a host, so it includes the port. */
function nameFor({ headers }: IncomingMessage): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1];
  return port === undefined ? 'parley_session' : `parley_session_${port}`;
}

/** The secret in the request's cookie and in the header of the page, which are worth nothing alone; undefined without both. */
function sessionSecret(incoming: IncomingMessage): string | undefined {
  const pageKey = incoming.headers[PAGE_HEADER];
  if (!isPart(pageKey)) return undefined;
  const name = nameFor(incoming);
  for (const pair of (incoming.headers.cookie ?? '').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name && isPart(value)) return value + pageKey;
  }
  return undefined;
}

function isPart(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_PART && /^[\w-]+$/.test(value);
}

/** Sets the cookie of a new session, and returns the page's part of its secret: 128 random bits each. */
function begin(c: HttpContext, secret: string, forMs = SIGN_IN_MS, isFramed = false): string {
  const middle = Math.ceil(secret.length / 2);
  c.header('set-cookie', sessionCookie(c.env.incoming, secret.slice(0, middle), forMs, isFramed));
  return secret.slice(middle);
}

/**
 * The `set-cookie` value that begins a session, or with '' ends it. In a frame of another site the browser keeps only a cookie
 * that is partitioned: it is sent only in frames of that site, and apart from the cookie of the page by itself.
 */
function sessionCookie(
  incoming: IncomingMessage,
  part: string,
  forMs = SIGN_IN_MS,
  isFramed = false,
): string {
  const age = part === '' ? 0 : Math.floor(forMs / 1_000);
  const common = `${nameFor(incoming)}=${part}; Path=/; Max-Age=${age}; HttpOnly`;
  if (isFramed) return `${common}; SameSite=None; Secure; Partitioned`;
  const secure = incoming.headers.origin?.startsWith('https://') === true ? '; Secure' : '';
  return `${common}; SameSite=Strict${secure}`;
}

/** Gives a request of the page the authorization of its session; the cookie alone has no effect. Throws `HttpError` 403. */
export function authorizeByCookie(incoming: IncomingMessage): void {
  const { headers } = incoming;
  if (headers.authorization !== undefined || headers[PAGE_HEADER] === undefined) return;
  const secret = sessionSecret(incoming);
  if (secret === undefined) return;
  refuseOtherPages(incoming);
  headers.authorization = `Session ${secret}`;
}

/** Throws `HttpError` 403 for a request that the gateway's own page did not make. */
function refuseOtherPages({ headers }: IncomingMessage): void {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'];
  const isOwn =
    origin === undefined || origin.replace(/^https?:\/\//, '').toLowerCase() === host.toLowerCase();
  const isSame = site === undefined || site === 'same-origin';
  if (isOwn && isSame && headers[PAGE_HEADER] !== undefined) return;
  const text = `Only the gateway's own page may sign in, and use its sign-in. Other programs send a token in "Authorization: Bearer …".`;
  throw new HttpError(403, 'not_from_page', text, { param: PAGE_HEADER });
}

/** Gives a request the rights of the ticket in its address, which this uses up. Throws `HttpError` 401 or 429, `StoreError`. */
export async function authorizeByTicket(
  incoming: IncomingMessage,
  closing: EventEmitter,
  { gateway, wrongTokens, addressOf, log }: HandlerDeps,
): Promise<void> {
  const ticket = queryOf(incoming).get('ticket');
  if (ticket === null || incoming.headers.authorization !== undefined) return;
  const secret = await gateway.signIns.redeemTicket(ticket.length <= MAX_TICKET ? ticket : '');
  if (secret === undefined) {
    const text = 'This ticket was already used or is too old. POST /v1/stream-tickets gives a new one.';
    const error = new HttpError(401, 'invalid_ticket', text, { param: 'ticket' });
    throw wrongTokens.refusal(addressOf(incoming), 'tickets', error);
  }
  incoming.headers.authorization = `Session ${secret}`;
  closing.once('close', () => {
    gateway.signIns
      .signOut(secret)
      .catch((error: unknown) => log.info({ err: toGatewayError(error) }, 'ticket_not_removed'));
  });
}

/** The query of a request's address. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const [, query = ''] = url.split('?', 2);
  return new URLSearchParams(query);
}

/** The one user that the values name; their bytes are UTF-8. */
function userIn(header: string, values: readonly string[]): string {
  const refuse = (reason: string): HttpError =>
    new HttpError(400, 'bad_proxy_user', `The proxy's header ${header} ${reason}.`, { param: header });
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
