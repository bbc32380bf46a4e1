/** The route about what became of a turn. A turn of a session that the caller may not see looks as if it did not exist. */
import { sayToCaller } from './language.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError } from '../errors.ts';
import { wireTrace } from '../wire.ts';
import { badQuery } from './sessions.ts';

/**
 * One sentence about the turn, and its timeline; with `include=prompt` what the model was sent. The wording of errors
 * is for admins.
 */
export async function readTrace(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const include = c.req.query('include');
  if (include !== undefined && include !== 'prompt') throw badQuery('include', '"prompt"');
  const found = await deps.gateway.trace(c.get('caller'), id, await sayToCaller(c, deps));
  if (found !== undefined) return c.json(wireTrace(found, include === 'prompt'));
  throw new HttpError(
    404,
    'turn_not_found',
    `There is no turn "${id.slice(0, 80)}" that this token may see.`,
  );
}
