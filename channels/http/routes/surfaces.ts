/** The routes of the chats that share a session. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import type { SurfaceEnd } from '../../../src/protocol/sessions/surfaces.ts';
import { readJson } from '../body.ts';
import { noSession } from '../errors.ts';
import { readableKey } from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** The chats that share the session, and the one that asks to join. */
export async function listSurfaces(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const found = await gateway.surfaces.list(c.get('caller'), key);
  if (found === undefined) throw noSession(key);
  const { surfaces, asks } = found;
  return c.json({
    surfaces: surfaces.map(({ address, place, name, linkedAt }) => ({
      address,
      place,
      name: name ?? null,
      linkedAt: linkedAt.toISOString(),
    })),
    asks: asks === undefined ? null : wireAsked(asks),
  });
}

/** A code to enter in another chat: 201. */
export async function giveLinkCode(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const given = await gateway.surfaces.giveCode(c.get('caller'), key);
  if (given === undefined) throw noSession(key);
  return c.json({ ...given, expiresAt: given.expiresAt.toISOString() }, 201);
}

/** The body. */
export const enterCodeSchema = z.strictObject({
  /** As the other chat shows it; case, blanks and dashes do not matter. */
  code: z.string().min(1).max(100),
});

/** Enters the code of another chat: 202, both sides are asked. */
export async function enterLinkCode(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const { code } = await readJson(c.env.incoming, c.env.outgoing, enterCodeSchema);
  const entered = await gateway.surfaces.enterCode(c.get('caller'), key, code);
  if (entered === undefined) throw noSession(key);
  return c.json({ asks: wireAsked(entered.asks) }, 202);
}

/** The body. */
export const answerLinkSchema = z.strictObject({
  /** The session that gave the code, or entered it. */
  session: z.string().min(1),
  agree: z.boolean(),
});

/** Agrees to, or declines, what a code was entered for; the code itself, or the `id` of the request, names it. */
export async function answerLink(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const { session, agree } = await readJson(c.env.incoming, c.env.outgoing, answerLinkSchema);
  const key = readableKey(session);
  const state = await gateway.surfaces.answer(c.get('caller'), key, c.req.param('code') ?? '', agree);
  if (state === undefined) throw noSession(key);
  return c.json({ state });
}

/** Separates one of the chats. */
export async function separateSurface(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const key = keyOf(c);
  const gone = await gateway.surfaces.separate(c.get('caller'), key, c.req.param('address') ?? '');
  if (gone === undefined) throw noSession(key);
  return c.json({ left: gone.left.address });
}

function wireAsked({ id, address, place, name }: SurfaceEnd & { id: string }) {
  return { id, address, place, name: name ?? null };
}

function keyOf(c: HttpContext): ReturnType<typeof readableKey> {
  return readableKey(c.req.param('key') ?? '');
}
