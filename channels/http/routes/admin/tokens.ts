/** The routes about tokens: a secret is in one answer only, the one that made it. */
import { z } from 'zod';
import { SCOPES, type TokenRecord } from '../../../../src/protocol/access.ts';
import { readJson } from '../../body.ts';
import { HttpError } from '../../errors.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { PARLEY } from '../../../../src/protocol/texts/parley.ts';

const DAY_MS = 86_400_000;
/** Longest life of a token that expires, in days. */
const MAX_DAYS = 3_650;

/** All tokens that are not revoked; `own` marks the one of the request. */
export async function listTokens(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { tokenId } = c.get('caller');
  const tokens = await gateway.administration.tokens();
  return c.json({ tokens: tokens.map((token) => ({ ...wireToken(token), own: token.tokenId === tokenId })) });
}

/** The body. */
export const tokenSchema = z.strictObject({
  name: z.string().trim().min(1).max(100),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).default(['chat']),
  expiresInDays: z.number().positive().max(MAX_DAYS).optional(),
});

/** Makes a token, 201; every one has `chat`. */
export async function createToken(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const asked = await readJson(c.env.incoming, c.env.outgoing, tokenSchema);
  const { name, expiresInDays } = asked;
  const scopes = SCOPES.filter((scope) => scope === 'chat' || asked.scopes.includes(scope));
  const expiresInMs = expiresInDays === undefined ? undefined : Math.round(expiresInDays * DAY_MS);
  const { token, secret } = await gateway.administration.createToken({ name, scopes, expiresInMs });
  return c.json({ ...wireToken(token), secret }, 201);
}

/** The body. */
export const renameSchema = z.strictObject({ name: tokenSchema.shape.name });

/** Gives a token another name. */
export async function renameToken(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { name } = await readJson(c.env.incoming, c.env.outgoing, renameSchema);
  if (!(await gateway.administration.renameToken(id, name))) throw noToken();
  return c.json({ id, name });
}

/** Gives a token another secret, which is in this answer only; the old one stops working within a second. */
export async function rotateToken(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const made = await gateway.administration.rotateToken(c.req.param('id') ?? '');
  if (made === undefined) throw noToken();
  return c.json({ ...wireToken(made.token), secret: made.secret });
}

function noToken(): HttpError {
  return new HttpError(404, 'token_not_found', 'There is no such token.');
}

/** Revokes a token permanently. The request's own is refused, so that no one locks themselves out by mistake. */
export async function revokeToken(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  if (id === c.get('caller').tokenId) {
    const how = `Use another admin token, or \`${PARLEY} token revoke\` on the machine of the gateway.`;
    throw new HttpError(409, 'own_token', `This is the token of this very request. ${how}`);
  }
  if (!(await gateway.administration.revokeToken(id))) throw noToken();
  return c.json({ id, deleted: true });
}

function wireToken({
  tokenId,
  name,
  scopes,
  origin,
  createdAt,
  expired,
  expiresAt,
  lastUsedAt,
}: TokenRecord) {
  const life = { expiresAt: expiresAt ?? null, lastUsedAt: lastUsedAt ?? null };
  return { id: tokenId, name, scopes, origin, createdAt, expired, ...life };
}
