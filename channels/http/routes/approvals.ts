/** The routes about approvals: list what waits for the caller, and decide. */
import { z } from 'zod';
import { MAX_LISTED_APPROVALS } from '../../../src/contracts/approvals.ts';
import type { Decided } from '../../../src/contracts/approvals.ts';
import { readJson } from '../body.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError } from '../errors.ts';
import { wireApproval } from '../wire.ts';

/** What waits, oldest first: every session's for `admin`, else those of the token's own. */
export async function listApprovals(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const waiting = await deps.gateway.approvals(c.get('caller'), { limit: MAX_LISTED_APPROVALS });
  return c.json({ approvals: waiting.map(wireApproval) });
}

const answerSchema = z.strictObject({ decision: z.enum(['approved', 'denied']) });

/** Decides once and for good: a second answer is 409, whatever it says. */
export async function answerApproval(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { decision } = await readJson(c.env.incoming, c.env.outgoing, answerSchema);
  const decided = await deps.gateway.decide(c.get('caller'), id, decision);
  if (decided.kind !== 'decided') throw errorOf(decided);
  return c.json({ id, decision: decided.decision });
}

/** What belongs to others looks like what is not there. */
function errorOf(decided: Exclude<Decided, { kind: 'decided' }>): HttpError {
  switch (decided.kind) {
    case 'settled':
      return new HttpError(
        409,
        'already_decided',
        `This was ${decided.record.state} before; nothing changed.`,
      );
    case 'expired':
      return new HttpError(409, 'expired', 'This request expired; nothing was run, and nothing changed.');
    case 'unknown':
    case 'elsewhere':
    case 'forbidden':
      return new HttpError(404, 'approval_not_found', 'There is no such question for this token.');
    default:
      return decided satisfies never;
  }
}
