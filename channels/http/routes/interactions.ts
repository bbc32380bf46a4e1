/**
 * The route to which platforms post what people do with a bot's commands and buttons, with a signature instead of a
 * token.
 */
import { readSigned } from '../body.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/**
 * 202 once it is acted on; 200 with an answer where the platform only asks whether anyone is there. A request that is
 * unsigned, or was signed too long ago, gets 401 and is not read; platforms try that on purpose, so it counts against
 * no one.
 */
export async function takeInteraction(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const interactions = deps.gateway.interactions(c.req.param('channel') ?? '');
  const body = await readSigned(incoming, outgoing);
  if (interactions === undefined || !(await interactions.isGenuine(incoming.headers, body)))
    throw new HttpError(
      401,
      'invalid_signature',
      'No platform posts here, or the signature is missing, wrong or too old.',
    );
  const answer = await interactions.answer(body);
  if (answer === 'invalid')
    throw new HttpError(400, 'invalid_interaction', 'The body is not an interaction.');
  return answer === 'taken' ? c.body(null, 202) : c.json(answer);
}
