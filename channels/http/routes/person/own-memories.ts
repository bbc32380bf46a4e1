/** The routes about what is remembered about the caller. */
import { HttpError } from '../../errors.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';

/** The facts about the caller, newest first. */
export async function listOwnMemories(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  return c.json({ memories: await gateway.memories.own(c.get('caller')) });
}

/** Deletes one of them. */
export async function forgetOwnMemory(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const text = c.req.param('id') ?? '';
  const id = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  if (id === undefined || !(await gateway.memories.deleteMemory(c.get('caller'), id)))
    throw new HttpError(404, 'memory_not_found', 'There is no such fact about you.');
  return c.json({ id, deleted: true });
}
