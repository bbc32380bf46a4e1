/** The routes about who may write: pairing requests, grants and owners. */
import { z } from 'zod';
import { GRANT_KINDS, SCOPES, type TokenRecord } from '../../../src/protocol/access.ts';
import { PARLEY } from '../../../src/protocol/texts/parley.ts';
import { HttpError } from '../errors.ts';
import { type Route, routeOf } from '../route.ts';

const grantSchema = z.strictObject({
  channel: z.string().min(1).max(50),
  kind: z.enum(GRANT_KINDS),
  id: z.string().trim().min(1).max(200),
});

const DAY_MS = 86_400_000;

/** Longest life of a token that expires, in days. */
const MAX_DAYS = 3_650;

const tokenSchema = z.strictObject({
  name: z.string().trim().min(1).max(100),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).default(['chat']),
  expiresInDays: z.number().positive().max(MAX_DAYS).optional(),
});

const route = routeOf('administration');

export const accessRoutes: readonly Route[] = [
  route('GET', '/v1/access', 'admin', {
    summary: 'Pending pairing codes, grants and owners',
    description: 'Who waits to be let in, who was, and whom config.json allows.',
    async handle(c, { gateway }) {
      return c.json(await gateway.administration.access());
    },
  }),
  route('POST', '/v1/access/pairings', 'admin', {
    summary: 'Let in the person who was given a pairing code',
    description:
      'A code is valid for an hour. The first person becomes an owner unless `firstOwns` is false.',
    body: z.strictObject({
      code: z.string().min(1).max(100),
      /** The first person who is approved becomes an owner. */
      firstOwns: z.boolean().default(true),
    }),
    async handle(c, { gateway }, read) {
      const { code, firstOwns } = await read();
      return c.json(await gateway.administration.approvePairing(code, firstOwns));
    },
  }),
  route('POST', '/v1/access/grants', 'admin', {
    summary: 'Let a person or a group in',
    description: 'A person (`dm`), a `group` or an `owner`, by the id on its network.',
    body: grantSchema,
    status: 201,
    async handle(c, { gateway }, read) {
      const grant = await read();
      await gateway.administration.addGrant(grant.channel, grant.kind, grant.id);
      return c.json(grant, 201);
    },
  }),
  route('DELETE', '/v1/access/grants/:channel/:kind/:id', 'admin', {
    summary: 'End a grant',
    description: 'Their next message is refused as that of a stranger.',
    async handle(c, { gateway }) {
      const { data: grant } = grantSchema.safeParse(c.req.param());
      const { administration } = gateway;
      if (!grant || !(await administration.removeGrant(grant.channel, grant.kind, grant.id)))
        throw new HttpError(404, 'grant_not_found', 'There is no such grant in the database.');
      return c.json({ ...grant, deleted: true });
    },
  }),
  route('GET', '/v1/tokens', 'admin', {
    summary: 'Tokens, without their secrets',
    description: 'With name, scopes, end and the time of their last use.',
    async handle(c, { gateway }) {
      const { tokenId } = c.get('caller');
      const tokens = await gateway.administration.tokens();
      return c.json({
        tokens: tokens.map((token) => ({ ...wireToken(token), own: token.tokenId === tokenId })),
      });
    },
  }),
  route('POST', '/v1/tokens', 'admin', {
    summary: 'Make a token, whose secret is shown once',
    description:
      'With a name, scopes and, if it should end, `expiresInDays`; the gateway keeps only a digest of the secret.',
    body: tokenSchema,
    status: 201,
    async handle(c, { gateway }, read) {
      const body = await read();
      const { name, expiresInDays } = body;
      const scopes = SCOPES.filter((scope) => scope === 'chat' || body.scopes.includes(scope));
      const expiresInMs = expiresInDays === undefined ? undefined : Math.round(expiresInDays * DAY_MS);
      const { token, secret } = await gateway.administration.createToken({ name, scopes, expiresInMs });
      return c.json({ ...wireToken(token), secret }, 201);
    },
  }),
  route('PATCH', '/v1/tokens/:id', 'admin', {
    summary: 'Rename a token',
    description: 'Its scopes and its secret stay.',
    body: z.strictObject({ name: tokenSchema.shape.name }),
    async handle(c, { gateway }, read) {
      const id = c.req.param('id') ?? '';
      const { name } = await read();
      if (!(await gateway.administration.renameToken(id, name))) throw noToken();
      return c.json({ id, name });
    },
  }),
  route('POST', '/v1/tokens/:id/rotate', 'admin', {
    summary: 'Give a token another secret, which is shown once',
    description: 'The earlier secret stops working at once, also on open streams.',
    async handle(c, { gateway }) {
      const rotated = await gateway.administration.rotateToken(c.req.param('id') ?? '');
      if (rotated === undefined) throw noToken();
      return c.json({ ...wireToken(rotated.token), secret: rotated.secret });
    },
  }),
  route('DELETE', '/v1/tokens/:id', 'admin', {
    summary: 'Revoke a token',
    description: 'Never the one of the request. Its streams end within a second; its sessions stay.',
    /** Revokes a token permanently. The request's own is refused, so that no one locks themselves out by mistake. */
    async handle(c, { gateway }) {
      const id = c.req.param('id') ?? '';
      if (id === c.get('caller').tokenId) {
        const advice = `Use another admin token, or \`${PARLEY} token revoke\` on the machine of the gateway.`;
        throw new HttpError(409, 'own_token', `This is the token of this very request. ${advice}`);
      }
      if (!(await gateway.administration.revokeToken(id))) throw noToken();
      return c.json({ id, deleted: true });
    },
  }),
];

function noToken(): HttpError {
  return new HttpError(404, 'token_not_found', 'There is no such token.');
}

function wireToken(token: TokenRecord) {
  const { tokenId: id, name, scopes, origin, createdAt, expired } = token;
  const life = { expiresAt: token.expiresAt ?? null, lastUsedAt: token.lastUsedAt ?? null };
  return { id, name, scopes, origin, createdAt, expired, ...life };
}
