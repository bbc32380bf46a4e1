/** The routes about approvals: list those the caller may decide, and decide one. */
import { z } from 'zod';
import { hasScope } from '../../../src/protocol/access.ts';
import {
  type Decided,
  MAX_LISTED_APPROVALS,
  MAX_REASON_CHARS,
} from '../../../src/protocol/agent/approvals.ts';
import { readJson } from '../body.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError } from '../errors.ts';
import { wireApproval, wireRule } from '../wire.ts';

/**
 * The pending approvals, oldest first: of every session for `admin`, else of the token's own sessions. `mayDecide` is false
 * for a token without the scope `approve`.
 */
export async function listApprovals(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const caller = c.get('caller');
  const waiting = await deps.gateway.approvals(caller, { limit: MAX_LISTED_APPROVALS });
  return c.json({ approvals: waiting.map(wireApproval), mayDecide: hasScope(caller, 'approve') });
}

/** The fields of a decision. */
export const decisionFields = {
  decision: z.enum(['approved', 'denied']),
  /** Of a denial; the model reads it. */
  reason: z.string().trim().min(1).max(MAX_REASON_CHARS).optional(),
  /** Of an approval: exactly this call runs in this session without a question from now on. */
  always: z.boolean().optional(),
};

type Decision = z.output<z.ZodObject<typeof decisionFields>>;

/** A schema with `decisionFields` that also checks that they belong together. */
export function consistent<Shape extends Decision>(schema: z.ZodType<Shape>): z.ZodType<Shape> {
  return schema
    .refine(({ decision, reason }) => reason === undefined || decision === 'denied', {
      path: ['reason'],
      message: 'only a denial has a reason',
    })
    .refine(({ decision, always }) => always !== true || decision === 'approved', {
      path: ['always'],
      message: 'only an approval can be permanent',
    });
}

/** The body. */
export const answerSchema = consistent(z.strictObject(decisionFields));

/** Decides an approval; a second decision is 409. */
export async function answerApproval(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { decision, ...detail } = await readJson(c.env.incoming, c.env.outgoing, answerSchema);
  const decided = await deps.gateway.decide(c.get('caller'), id, decision, detail);
  if (decided.kind !== 'decided') throw undecided(decided);
  return c.json({ id, decision: decided.decision, ...(decided.rule && { rule: decided.rule }) });
}

/** The calls that run without a question in the sessions that the caller may see, newest first. */
export async function listRules(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const rules = await gateway.approvalRules(c.get('caller'));
  return c.json({ rules: rules.map(wireRule) });
}

/** Ends a rule: the call is asked about again. */
export async function removeRule(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  if (!(await gateway.removeApprovalRule(c.get('caller'), id)))
    throw new HttpError(404, 'rule_not_found', 'This token has no such rule.');
  return c.json({ id, deleted: true });
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
