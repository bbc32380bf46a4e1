/** The sign-in routes: a code for a session, the list of sessions, and their end. */
import { z } from 'zod';
import type { SignIn } from '../../../src/protocol/operator/sign-in.ts';
import { readJson } from '../body.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { cookieSecret, refuseOtherPages, sessionCookie } from './cookie.ts';
import { PARLEY } from '../../../src/protocol/texts/parley.ts';

/** The body. */
export const codeSchema = z.strictObject({ code: z.string().min(1).max(100) });

/** Begins a session for a code. Wrong codes count like wrong tokens. */
export async function signIn(
  c: HttpContext,
  { gateway, wrongTokens, addressOf }: HandlerDeps,
): Promise<Response> {
  const { incoming, outgoing } = c.env;
  refuseOtherPages(incoming);
  const { code } = await readJson(incoming, outgoing, codeSchema);
  const secret = await gateway.signIns.redeem(code, incoming.headers['user-agent'] ?? '');
  if (secret === undefined) {
    const waitMs = wrongTokens.count(addressOf(incoming));
    const text = `This link was already used or is too old. "${PARLEY} open" prints a new one.`;
    if (waitMs === undefined) throw new HttpError(401, 'invalid_code', text, { param: 'code' });
    const many = 'Too many wrong codes from this address; try again later.';
    throw new HttpError(429, 'too_many_attempts', many, { retryAfterMs: waitMs });
  }
  c.header('set-cookie', sessionCookie(incoming, secret));
  return c.json({ signedIn: true });
}

/** Ends the session of the request's cookie, whether there is one or not. */
export async function signOut(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { incoming } = c.env;
  refuseOtherPages(incoming);
  const secret = cookieSecret(incoming);
  if (secret !== undefined) await gateway.signIns.signOut(secret);
  c.header('set-cookie', sessionCookie(incoming, ''));
  return c.json({ signedIn: false });
}

/** The browsers that are signed in by a link. */
export async function listSignIns(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const signIns = await gateway.signIns.list(c.get('caller'), cookieSecret(c.env.incoming));
  return c.json({ signIns: signIns.map(wireSignIn) });
}

/** Signs out all of them but the one that asks. */
export async function endOtherSignIns(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const deleted = await gateway.signIns.endOthers(c.get('caller'), cookieSecret(c.env.incoming));
  return c.json({ deleted });
}

/** Signs one out. */
export async function endSignIn(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  if (!(await gateway.signIns.end(c.get('caller'), id)))
    throw new HttpError(404, 'unknown_sign_in', 'There is no such sign-in.', { param: 'id' });
  return c.json({ id, deleted: true });
}

function wireSignIn({ id, proxyUser, client, createdAt, expiresAt, lastUsedAt, isOwn }: SignIn) {
  const by = proxyUser === undefined ? {} : { proxyUser };
  return { id, client, ...by, createdAt, expiresAt, lastUsedAt: lastUsedAt ?? null, isOwn };
}
