/** The routes about plans: make, list, read, change and run those that are stored, and act on one that runs. */
import { z } from 'zod';
import { MAX_STEP_EDITS } from '../../../src/protocol/agent/plan-edits.ts';
import { MODES } from '../../../src/protocol/agent/plan.ts';
import type { PlanAction } from '../../../src/protocol/agent/plan-store.ts';
import { newId } from '../../../src/lib/ids.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { HttpError, noSession } from '../errors.ts';
import {
  accept,
  checkRepeat,
  endUserSchema,
  idempotencyKey,
  postableId,
  readableKey,
  refusal,
  toInbound,
  wantedLanguages,
} from '../inbound.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';
import { acceptedAt, receiptJson, wirePlan } from '../wire.ts';
import { sayToCaller } from './person.ts';

const ACTIONS = ['run', 'skip', 'pause', 'resume', 'stop', 'restore'] as const satisfies readonly (
  | PlanAction
  | 'restore'
)[];

const step = z.string().min(1).max(64);

const editSchema = z.union([
  z.strictObject({ op: z.literal('drop'), step }),
  z.strictObject({ op: z.literal('reword'), step, description: z.string() }),
  z.strictObject({ op: z.literal('move'), step, before: step }),
  z.strictObject({ op: z.literal('move'), step, after: step }),
  z.strictObject({ op: z.literal('add'), description: z.string(), before: step }),
  z.strictObject({ op: z.literal('add'), description: z.string(), after: step.optional() }),
]);

const runSchema = z.strictObject({
  /** Without it, the mode that was the session's when the plan was made. */
  mode: z.enum(MODES).optional(),
  version: z.int().min(1).optional(),
});

type AskedRun = z.infer<typeof runSchema>;

const route = routeOf('plans');

export const planRoutes: readonly Route[] = [
  route('POST', '/v1/sessions/:key/plans', 'chat', {
    summary: 'Make a plan without running it',
    description: 'The event `plan_ready` delivers it. 409 `planning_off` under a profile that does not plan.',
    body: z.strictObject({ request: z.string(), user: endUserSchema }),
    status: 202,
    answer: receiptJson,
    async handle(c, deps, read) {
      const { incoming } = c.env;
      const caller = c.get('caller');
      const id = postableId(c.req.param('key') ?? '');
      const { request, user } = await read();
      const message = toInbound(idempotencyKey(incoming), caller, id, {
        content: cleanText(request),
        media: [],
        user,
        language: wantedLanguages(incoming),
      });
      const answer = await accept(deps, message, { caller, entry: 'plan' });
      return c.json(answer, answer.handled ? 200 : 202);
    },
  }),
  route('GET', '/v1/plans', 'chat', {
    summary: 'The plans of a session',
    description: 'Newest first, each with its number in the session; runs of a stored plan are not listed.',
    query: { session: 'its key' },
    async handle(c, deps) {
      const key = c.req.query('session');
      if (key === undefined)
        throw new HttpError(400, 'invalid_query', 'Name a session with ?session=.', { param: 'session' });
      const plans = await deps.gateway.plans.list(c.get('caller'), readableKey(key));
      if (plans === undefined) throw noSession(key);
      return c.json({ plans: plans.map(({ record, number }) => ({ number, ...wirePlan(record) })) });
    },
  }),
  route('GET', '/v1/plans/:id', 'chat', {
    summary: 'One plan with its version',
    description: 'Its steps, and the version that a change must name.',
    async handle(c, deps) {
      const id = c.req.param('id') ?? '';
      const record = await deps.gateway.plans.read(c.get('caller'), id);
      if (record === undefined) throw noPlan(id);
      return c.json(wirePlan(record));
    },
  }),
  route('PATCH', '/v1/plans/:id', 'chat', {
    summary: 'Change steps that have not begun',
    description: 'All edits or none. 409 `plan_changed` when the plan has another version by then.',
    body: z.strictObject({
      version: z.int().min(1),
      edits: z.array(editSchema).min(1).max(MAX_STEP_EDITS),
    }),
    async handle(c, deps, read) {
      const id = c.req.param('id') ?? '';
      const { version, edits } = await read();
      const plan = await deps.gateway.plans.change(c.get('caller'), id, version, edits);
      if (plan === undefined) throw noPlan(id);
      return c.json({ plan });
    },
  }),
  route('POST', '/v1/plans/:id/:action', 'chat', {
    summary: '`run`, `skip`, `pause`, `resume`, `stop` or `restore`; a stored plan is run, 202',
    description:
      'Running a stored plan answers 202 with its turn; `stop` drops it, and `restore` takes that back. The other actions act on the running plan at once.',
    query: { step: 'the step to skip' },
    body: runSchema,
    bodyOptional: true,
    others: [{ status: 202, body: z.looseObject({}) }],
    /**
     * Runs or skips a step, pauses, resumes or stops a plan; 409 says why nothing changed. Needs no body. `?step=` names the
     * step to skip: a press that comes too late must not skip the next one.
     */
    async handle(c, deps, read) {
      const id = c.req.param('id') ?? '';
      const caller = c.get('caller');
      const action = ACTIONS.find((one) => one === c.req.param('action'));
      if (action === undefined) {
        throw new HttpError(404, 'not_found', `The actions of a plan are ${ACTIONS.join(', ')}.`);
      }
      if (action === 'restore') {
        const plan = await deps.gateway.plans.restore(caller, id);
        if (plan === undefined) throw noPlan(id);
        return c.json({ id, action, plan });
      }
      const [record, say] = await Promise.all([deps.gateway.plans.read(caller, id), sayToCaller(c, deps)]);
      const body = action === 'run' ? await read() : undefined;
      if (body !== undefined && (body.mode !== undefined || record?.plan.state === 'stored'))
        return await startRun(c, deps, id, body);
      if (action === 'stop' && record?.plan.state === 'stored') {
        await deps.gateway.plans.cancel(caller, id);
        return c.json({ id, action, text: say('plan.cancelled') });
      }
      const answer = await deps.gateway.actOnPlan(caller, id, action, c.req.query('step'), say);
      if (answer === undefined) throw noPlan(id);
      if (!answer.done) throw new HttpError(409, 'plan_unchanged', answer.text);
      return c.json({ id, action, text: answer.text });
    },
  }),
];

async function startRun(c: HttpContext, deps: HandlerDeps, id: string, body: AskedRun): Promise<Response> {
  const caller = c.get('caller');
  const record = await deps.gateway.plans.read(caller, id);
  if (record === undefined) throw noPlan(id);
  const lastEventId = deps.gateway.lastEventId(record.session);
  const messageId = idempotencyKey(c.env.incoming) ?? newId();
  const [say, language] = [await sayToCaller(c, deps), wantedLanguages(c.env.incoming)];
  const run = await deps.gateway.plans.run(caller, id, { messageId, ...body, say, language });
  if (run === undefined) throw noPlan(id);
  const { receipt, session } = run;
  if (receipt.kind === 'refused') throw refusal(receipt, session);
  checkRepeat(receipt);
  return c.json({ id, action: 'run', ...acceptedAt(receipt, lastEventId) }, 202);
}

function noPlan(id: string): HttpError {
  const text = `There is no plan "${id.slice(0, 80)}" that this token may see.`;
  return new HttpError(404, 'plan_not_found', text);
}
