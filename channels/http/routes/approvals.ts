/** The routes about approvals: what waits for the caller's answer, and answering. */
import { z } from 'zod';
import { MAX_LISTED_APPROVALS } from '../../../src/contracts/approvals.ts';
import type { Decided } from '../../../src/contracts/approvals.ts';
import { readJson } from '../body.ts';
import type { Door, HttpContext } from '../http-api.ts';
import { HttpFault } from '../errors.ts';
import { wireApproval } from '../wire.ts';

/** What waits, oldest first: every session's for `admin`, else those of the token's own. */
export async function listApprovals(c: HttpContext, door: Door): Promise<Response> {
  const waiting = await door.gateway.approvals(c.get('caller'), { limit: MAX_LISTED_APPROVALS });
  return c.json({ approvals: waiting.map(wireApproval) });
}

const answerSchema = z.strictObject({ decision: z.enum(['approved', 'denied']) });

/** Decides once and for good: a second answer is 409, whatever it says. */
export async function answerApproval(c: HttpContext, door: Door): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { decision } = await readJson(c.env.incoming, c.env.outgoing, answerSchema);
  const decided = await door.gateway.decide(c.get('caller'), id, decision);
  if (decided.kind !== 'decided') throw faultOf(decided);
  return c.json({ id, decision: decided.decision });
}

/** What belongs to others looks like what is not there. */
function faultOf(decided: Exclude<Decided, { kind: 'decided' }>): HttpFault {
  switch (decided.kind) {
    case 'settled':
      return new HttpFault(
        409,
        'already_decided',
        `This was ${decided.record.state} before; nothing changed.`,
      );
    case 'expired':
      return new HttpFault(409, 'expired', 'Nobody answered in time: it was not run, and nothing changed.');
    case 'unknown':
    case 'elsewhere':
    case 'forbidden':
      return new HttpFault(404, 'approval_not_found', 'There is no such question for this token.');
    default:
      return decided satisfies never;
  }
}
