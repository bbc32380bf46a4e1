/** The route to which platforms post the updates of a bot. */
import { z } from 'zod';
import { readJson } from '../body.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** How long a platform waits when there was no room for its updates. */
const AGAIN_MS = 30_000;

/**
 * 200 once the update is durable, and for every repetition of it. The secret is checked before the body is read:
 * without it the answer is 401, whether or not the webhook exists, and the request counts like a wrong token.
 */
export async function takeUpdate(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const webhook = deps.gateway.webhook(c.req.param('channel') ?? '');
  if (webhook?.isGenuine(incoming.headers) !== true)
    throw refused(deps.wrongTokens.count(deps.addressOf(incoming)));
  const taken = await webhook.takeUpdate(await readJson(incoming, outgoing, z.unknown()));
  switch (taken) {
    case 'stored':
    case 'repeated':
      return c.json({ ok: true });
    case 'full':
      throw new HttpError(503, 'queue_full', 'Too many updates wait; they are to be posted again later.', {
        retryAfterMs: AGAIN_MS,
      });
    case 'invalid':
      throw new HttpError(400, 'invalid_update', 'The body is not an update: it has no update_id.');
    default:
      return taken satisfies never;
  }
}

function refused(waitMs: number | undefined): HttpError {
  if (waitMs === undefined)
    return new HttpError(
      401,
      'invalid_secret',
      'There is no such webhook, or its secret is missing or wrong.',
    );
  const many = 'Too many wrong secrets from this address; try again later.';
  return new HttpError(429, 'too_many_attempts', many, { retryAfterMs: waitMs });
}
