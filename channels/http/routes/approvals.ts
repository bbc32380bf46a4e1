/** The routes about approvals: list those the caller may decide, and decide one. */
import { z } from 'zod';
import { hasScope } from '../../../src/protocol/access.ts';
import {
  type Decided,
  MAX_ANSWER_CHARS,
  MAX_LISTED_APPROVALS,
  MAX_REASON_CHARS,
} from '../../../src/protocol/agent/approvals.ts';
import { HttpError } from '../errors.ts';
import { type Route, routeOf } from '../route.ts';
import { approvalJson, wireApproval, wireRule } from '../wire.ts';

/** The fields of a decision. */
export const decisionFields = {
  decision: z.enum(['approved', 'denied']),
  /** Of a denial; the model reads it. */
  reason: z.string().trim().min(1).max(MAX_REASON_CHARS).optional(),
  /** Of an approval: exactly this call runs in this session without a question from now on. */
  always: z.boolean().optional(),
  /** Of an approval: all arguments with which the call runs instead. */
  args: z.record(z.string(), z.unknown()).optional(),
};

type Decision = z.output<z.ZodObject<typeof decisionFields>>;

/** An answer to a question, or that there is none. */
const answerFields = z.union([
  z.strictObject({ answer: z.string().trim().min(1).max(MAX_ANSWER_CHARS) }),
  z.strictObject({ refuse: z.literal(true), never: z.boolean().optional() }),
]);

const route = routeOf('approvals');

export const approvalRoutes: readonly Route[] = [
  route('GET', '/v1/approvals', 'chat', {
    summary: 'Calls that wait for a decision',
    description:
      'With their arguments, the files that these name, and the reason; `mayDecide` says whether this token may answer. What others have this token asked has a `question`, in the session that shows it.',
    answer: z.object({ approvals: z.array(approvalJson), mayDecide: z.boolean() }),
    async handle(c, deps) {
      const caller = c.get('caller');
      const approvals = await deps.gateway.approvals(caller, { limit: MAX_LISTED_APPROVALS });
      return c.json({ approvals: approvals.map(wireApproval), mayDecide: hasScope(caller, 'approve') });
    },
  }),
  route('POST', '/v1/approvals/:id', 'approve', {
    summary: 'Decide one; the first decision counts',
    description:
      'The first answer counts, any further one is 409. `always` makes a rule of it; `args` are the arguments with which it runs instead; the model reads the `reason` of a denial.',
    body: consistent(z.strictObject(decisionFields)),
    async handle(c, deps, read) {
      const id = c.req.param('id') ?? '';
      const { decision, ...detail } = await read();
      const result = await deps.gateway.decide(c.get('caller'), id, decision, detail);
      if (result.kind !== 'decided') throw undecided(result);
      return c.json({ id, decision: result.decision, ...(result.rule && { rule: result.rule }) });
    },
  }),
  route('POST', '/v1/questions/:id', 'chat', {
    summary: 'Answer a question of another person',
    description:
      'One of those that `GET /v1/approvals` lists with a `question`: `{"answer": …}`, or `{"refuse": true}`, with `"never": true` for all later ones, too. The first answer counts, any further one is 409.',
    body: answerFields,
    async handle(c, { gateway }, read) {
      const id = c.req.param('id') ?? '';
      const body = await read();
      const reply = 'answer' in body ? { answer: body.answer } : { never: body.never === true };
      const result = await gateway.answer(c.get('caller'), id, reply);
      if (result.kind !== 'decided') throw undecided(result);
      return c.json({ id, answered: 'answer' in body });
    },
  }),
  route('GET', '/v1/approval-rules', 'chat', {
    summary: 'Calls that run without asking',
    description: 'Those of the sessions that the token may see, newest first.',
    async handle(c, { gateway }) {
      const rules = await gateway.approvalRules(c.get('caller'));
      return c.json({ rules: rules.map(wireRule) });
    },
  }),
  route('DELETE', '/v1/approval-rules/:id', 'approve', {
    summary: 'End a rule',
    description: 'Such calls wait for a person again.',
    async handle(c, { gateway }) {
      const id = c.req.param('id') ?? '';
      if (!(await gateway.removeApprovalRule(c.get('caller'), id)))
        throw new HttpError(404, 'rule_not_found', 'This token has no such rule.');
      return c.json({ id, deleted: true });
    },
  }),
];

/** A schema with `decisionFields` that also checks that they belong together. */
export function consistent<Shape extends Decision>(schema: z.ZodType<Shape>): z.ZodType<Shape> {
  return schema
    .refine(({ decision, reason }) => reason === undefined || decision === 'denied', {
      path: ['reason'],
      message: 'only a denial has a reason',
    })
    .refine(({ decision, always: isPermanent }) => isPermanent !== true || decision === 'approved', {
      path: ['always'],
      message: 'only an approval can be permanent',
    })
    .refine(
      ({ decision, args, always: isPermanent }) =>
        args === undefined || (decision === 'approved' && isPermanent !== true),
      {
        path: ['args'],
        message: 'only an approval that is not permanent changes the arguments',
      },
    );
}

/** The error for a decision that was not made. An approval of others looks as if it did not exist. */
export function undecided(result: Exclude<Decided, { kind: 'decided' }>): HttpError {
  switch (result.kind) {
    case 'settled': {
      const text = `This was ${result.record.state} before; nothing changed.`;
      return new HttpError(409, 'already_decided', text);
    }
    case 'expired':
      return new HttpError(409, 'expired', 'This request expired; nothing was run, and nothing changed.');
    case 'bad_args':
      return new HttpError(400, 'bad_args', result.problem);
    case 'unknown':
    case 'elsewhere':
    case 'forbidden':
      return new HttpError(404, 'approval_not_found', 'This token has no such approval.');
    default:
      return result satisfies never;
  }
}
