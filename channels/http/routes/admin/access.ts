/** The routes about who may write: pairing requests, grants and owners. */
import { z } from 'zod';
import { GRANT_KINDS } from '../../../../src/protocol/access.ts';
import { readJson } from '../../body.ts';
import { HttpError } from '../../errors.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';

/** Pending requests, grants, and what `config.json` allows. Codes are shown to no one. */
export async function readAccess(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  return c.json(await gateway.administration.access());
}

/** The body. */
export const pairingSchema = z.strictObject({
  code: z.string().min(1).max(100),
  /** The first person who is approved becomes an owner. */
  firstOwns: z.boolean().default(true),
});

/** Approves the person who was given this code. */
export async function approvePairing(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { code, firstOwns } = await readJson(c.env.incoming, c.env.outgoing, pairingSchema);
  return c.json(await gateway.administration.approvePairing(code, firstOwns));
}

/** The body. */
export const grantSchema = z.strictObject({
  channel: z.string().min(1).max(50),
  kind: z.enum(GRANT_KINDS),
  id: z.string().trim().min(1).max(200),
});

/** Allows a person, a group, a guild or a role, or makes a person an owner; 201. */
export async function addGrant(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const grant = await readJson(c.env.incoming, c.env.outgoing, grantSchema);
  await gateway.administration.addGrant(grant.channel, grant.kind, grant.id);
  return c.json(grant, 201);
}

/** Takes a grant away. */
export async function removeGrant(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const grant = grantSchema.safeParse(c.req.param()).data;
  const { channel, kind, id } = grant ?? {};
  const found =
    channel !== undefined &&
    kind !== undefined &&
    id !== undefined &&
    (await gateway.administration.removeGrant(channel, kind, id));
  if (!found) throw new HttpError(404, 'grant_not_found', 'There is no such grant in the database.');
  return c.json({ ...grant, deleted: true });
}
