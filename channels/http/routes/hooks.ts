/** The route of webhooks: programs call it with a signature instead of a token. */
import { readSigned } from '../body.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** How long a sender waits when there was no room for its message. */
const AGAIN_MS = 30_000;

/**
 * 202 once what the request says is durable, and for every repetition of it. An unsigned request gets 401, whether or
 * not the webhook exists, and counts like a wrong token.
 */
export async function callHook(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const body = await readSigned(incoming, outgoing);
  const receipt = await deps.gateway.hooks.accept(c.req.param('name') ?? '', {
    headers: incoming.headers,
    body,
  });
  switch (receipt.kind) {
    case 'accepted':
      return c.json({ accepted: true, turnId: receipt.turnId }, 202);
    case 'duplicate':
      return c.json({ accepted: true, turnId: null, repeated: true }, 202);
    case 'full':
      throw new HttpError(429, 'queue_full', 'Too many messages are waiting there; send it again later.', {
        retryAfterMs: AGAIN_MS,
      });
    case 'invalid':
      throw new HttpError(400, 'invalid_json', 'The body is not JSON in UTF-8.');
    case 'unsigned': {
      const waitMs = deps.wrongTokens.count(deps.addressOf(incoming));
      if (waitMs === undefined) throw new HttpError(401, 'invalid_signature', MESSAGES[receipt.why]);
      const many = 'Too many wrong signatures from this address; try again later.';
      throw new HttpError(429, 'too_many_attempts', many, { retryAfterMs: waitMs });
    }
    default:
      return receipt satisfies never;
  }
}

const MESSAGES = {
  missing: 'There is no such webhook, or the header with its signature is missing.',
  wrong: 'The signature is not that of this body and the secret of the webhook.',
  stale: 'The signature is older than five minutes, or comes from a clock that is wrong.',
};
