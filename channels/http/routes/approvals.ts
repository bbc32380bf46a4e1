/** The routes about approvals: list those the caller may decide, and decide one. */
import { z } from 'zod';
import { hasScope } from '../../../src/contracts/access.ts';
import { MAX_LISTED_APPROVALS } from '../../../src/contracts/approvals.ts';
import type { Decided } from '../../../src/contracts/approvals.ts';
import { readJson } from '../body.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError } from '../errors.ts';
import { wireApproval } from '../wire.ts';

/**
 * The pending approvals, oldest first: of every session for `admin`, else of the token's own sessions. `mayDecide` is false
 * for a token without the scope `approve`.
 */
export async function listApprovals(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const caller = c.get('caller');
  const waiting = await deps.gateway.approvals(caller, { limit: MAX_LISTED_APPROVALS });
  return c.json({ approvals: waiting.map(wireApproval), mayDecide: hasScope(caller, 'approve') });
}

const answerSchema = z.strictObject({ decision: z.enum(['approved', 'denied']) });

/** Decides an approval; a second decision is 409. */
export async function answerApproval(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { decision } = await readJson(c.env.incoming, c.env.outgoing, answerSchema);
  const decided = await deps.gateway.decide(c.get('caller'), id, decision);
  if (decided.kind !== 'decided') throw undecided(decided);
  return c.json({ id, decision: decided.decision });
}

/** The error for a decision that was not made. An approval of others looks as if it did not exist. */
export function undecided(decided: Exclude<Decided, { kind: 'decided' }>): HttpError {
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
      return new HttpError(404, 'approval_not_found', 'This token has no such approval.');
    default:
      return decided satisfies never;
  }
}
