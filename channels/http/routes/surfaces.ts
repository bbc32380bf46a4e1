/** The routes of the chats that share a session. A session the caller may not see looks as if it did not exist. */
import { z } from 'zod';
import type { SurfaceEnd } from '../../../src/protocol/sessions/surfaces.ts';
import { noSession } from '../errors.ts';
import { inSession, readableKey } from '../inbound.ts';
import { type Route, routeOf } from '../route.ts';

const surfaceJson = z.object({
  address: z.string(),
  place: z.enum(['private', 'group']),
  name: z.string().nullable(),
  linkedAt: z.string(),
});

const linkRequestJson = surfaceJson.omit({ linkedAt: true }).extend({ id: z.string() });

const route = routeOf('sessions');

export const surfaceRoutes: readonly Route[] = [
  route('POST', '/v1/sessions/:key/links', 'commands', {
    summary: 'A code by which another chat can ask to share the session: once, ten minutes',
    description: '`commands` are what to write in the other chat.',
    status: 201,
    answer: z.object({
      code: z.string(),
      commands: z.array(z.object({ command: z.string(), networks: z.array(z.string()) })),
      expiresAt: z.string(),
    }),
    async handle(c, { gateway }) {
      const code = await inSession(c, (caller, key) => gateway.surfaces.giveCode(caller, key));
      return c.json({ ...code, expiresAt: code.expiresAt.toISOString() }, 201);
    },
  }),
  route('POST', '/v1/sessions/:key/link', 'commands', {
    summary: 'Enter the code of another chat; then both sides are asked',
    description: '404 for an unknown code, 410 for one that is too old, 409 for one that was used.',
    body: z.strictObject({
      /** As the other chat shows it; case, blanks and dashes do not matter. */
      code: z.string().min(1).max(100),
    }),
    status: 202,
    answer: z.object({ asks: linkRequestJson }),
    async handle(c, { gateway }, read) {
      const { asks } = await inSession(c, async (caller, key) => {
        const { code } = await read();
        return await gateway.surfaces.enterCode(caller, key, code);
      });
      return c.json({ asks: wireAsked(asks) }, 202);
    },
  }),
  route('POST', '/v1/links/:code', 'commands', {
    summary: 'Agree to, or decline, what a code was entered for: by the code, or by the id of the request',
    description: 'Both sides must agree; until then the state is `waiting`.',
    body: z.strictObject({
      /** The session that gave the code, or entered it. */
      session: z.string().min(1),
      agree: z.boolean(),
    }),
    answer: z.object({ state: z.enum(['joined', 'waiting', 'declined']) }),
    async handle(c, { gateway }, read) {
      const { session, agree } = await read();
      const key = readableKey(session);
      const state = await gateway.surfaces.answer(c.get('caller'), key, c.req.param('code') ?? '', agree);
      if (state === undefined) throw noSession(key);
      return c.json({ state });
    },
  }),
  route('GET', '/v1/sessions/:key/surfaces', 'chat', {
    summary: 'The chats that share the session, and the one that waits for an agreement',
    description: 'Each with its network, its kind of place, and since when it has shared the session.',
    answer: z.object({ surfaces: z.array(surfaceJson), asks: linkRequestJson.nullable() }),
    async handle(c, { gateway }) {
      const { surfaces, asks } = await inSession(c, (caller, key) => gateway.surfaces.list(caller, key));
      return c.json({
        surfaces: surfaces.map(({ address, place, name, linkedAt }) => ({
          address,
          place,
          name: name ?? null,
          linkedAt: linkedAt.toISOString(),
        })),
        asks: asks === undefined ? null : wireAsked(asks),
      });
    },
  }),
  route('DELETE', '/v1/sessions/:key/surfaces/:address', 'commands', {
    summary: 'Separate one of the chats that share the session',
    description: "The session's own address separates all of them.",
    answer: z.object({ left: z.string() }),
    async handle(c, { gateway }) {
      const address = c.req.param('address') ?? '';
      const { left } = await inSession(c, (caller, key) => gateway.surfaces.separate(caller, key, address));
      return c.json({ left: left.address });
    },
  }),
];

function wireAsked({ id, address, place, name }: SurfaceEnd & { id: string }) {
  return { id, address, place, name: name ?? null };
}
