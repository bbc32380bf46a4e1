/** The routes about plans: make, list, read, change and run those that are stored, and act on one that runs. */
import { z } from 'zod';
import { MAX_STEP_EDITS } from '../../../src/protocol/agent/plan-edits.ts';
import { MODES } from '../../../src/protocol/agent/plan.ts';
import type { PlanAction } from '../../../src/protocol/agent/plan-store.ts';
import { newId } from '../../../src/lib/ids.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { readJson } from '../body.ts';
import { sayToCaller } from './language.ts';
import { HttpError, noSession } from '../errors.ts';
import {
  checkRepeat,
  idempotencyKey,
  postableId,
  readableKey,
  refusal,
  toInbound,
  wantedLanguages,
} from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { acceptedAt, wirePlan } from '../wire.ts';
import { endUserSchema } from './end-user.ts';

const ACTIONS: readonly PlanAction[] = ['run', 'skip', 'pause', 'resume', 'stop'];

/** The body. */
export const requestSchema = z.strictObject({ request: z.string(), user: endUserSchema });

/** Asks for a plan that is stored and not run: 202 once the request is committed, as for a message. */
export async function requestPlan(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const id = postableId(c.req.param('key') ?? '');
  const { request, user } = await readJson(incoming, outgoing, requestSchema);
  const message = toInbound(idempotencyKey(incoming), caller, id, {
    content: cleanText(request),
    media: [],
    user,
    language: wantedLanguages(incoming),
  });
  const before = deps.gateway.lastEventId(`http:${id}`);
  const receipt = await deps.receive(message, { caller, entry: 'plan' });
  if (receipt.kind === 'refused') throw refusal(receipt, `http:${id}`);
  checkRepeat(receipt);
  return c.json(acceptedAt(receipt, before), receipt.kind === 'handled' ? 200 : 202);
}

/** The plans of the session `?session=`, newest first. */
export async function listPlans(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = c.req.query('session');
  if (key === undefined)
    throw new HttpError(400, 'invalid_query', 'Name a session with ?session=.', { param: 'session' });
  const plans = await deps.gateway.plans.list(c.get('caller'), readableKey(key));
  if (plans === undefined) throw noSession(key);
  return c.json({ plans: plans.map(({ record, number }) => ({ number, ...wirePlan(record) })) });
}

/** Reads one plan. */
export async function readOnePlan(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const record = await deps.gateway.plans.read(c.get('caller'), id);
  if (record === undefined) throw noPlan(id);
  return c.json(wirePlan(record));
}

const step = z.string().min(1).max(64);
const editSchema = z.union([
  z.strictObject({ op: z.literal('drop'), step }),
  z.strictObject({ op: z.literal('reword'), step, description: z.string() }),
  z.strictObject({ op: z.literal('move'), step, before: step }),
  z.strictObject({ op: z.literal('move'), step, after: step }),
  z.strictObject({ op: z.literal('add'), description: z.string(), before: step }),
  z.strictObject({ op: z.literal('add'), description: z.string(), after: step.optional() }),
]);
/** The body. */
export const changeSchema = z.strictObject({
  version: z.int().min(1),
  edits: z.array(editSchema).min(1).max(MAX_STEP_EDITS),
});

/** Changes steps that have not begun, all or none; 409 when the plan has another version than `version`. */
export async function changePlan(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const { version, edits } = await readJson(c.env.incoming, c.env.outgoing, changeSchema);
  const plan = await deps.gateway.plans.change(c.get('caller'), id, version, edits);
  if (plan === undefined) throw noPlan(id);
  return c.json({ plan });
}

/**
 * Runs or skips a step, pauses, resumes or stops a plan; 409 says why nothing changed. Needs no body. `?step=` names the
 * step to skip: a press that comes too late must not skip the next one. A stored plan is run, or with `stop` dropped.
 */
export async function actOnPlan(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const caller = c.get('caller');
  const action = ACTIONS.find((one) => one === c.req.param('action'));
  if (action === undefined) {
    throw new HttpError(404, 'not_found', `The actions of a plan are ${ACTIONS.join(', ')}.`);
  }
  const [record, say] = await Promise.all([deps.gateway.plans.read(caller, id), sayToCaller(c, deps)]);
  const asked = action === 'run' ? await runOf(c) : undefined;
  if (asked !== undefined && (asked.mode !== undefined || record?.plan.state === 'stored'))
    return await startRun(c, deps, id, asked);
  if (action === 'stop' && record?.plan.state === 'stored') {
    await deps.gateway.plans.cancel(caller, id);
    return c.json({ id, action, text: say('plan.cancelled') });
  }
  const answer = await deps.gateway.actOnPlan(caller, id, action, c.req.query('step'), say);
  if (answer === undefined) throw noPlan(id);
  if (!answer.done) throw new HttpError(409, 'plan_unchanged', answer.text);
  return c.json({ id, action, text: answer.text });
}

/** The body. */
export const runSchema = z.strictObject({
  /** Without it, the mode that was the session's when the plan was made. */
  mode: z.enum(MODES).optional(),
  /** The version to run. */
  version: z.int().min(1).optional(),
});
type AskedRun = z.infer<typeof runSchema>;

/** The body of a request to run a plan; an empty one has none. */
async function runOf(c: HttpContext): Promise<AskedRun> {
  const { incoming, outgoing } = c.env;
  const { headers } = incoming;
  const isEmpty = Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined;
  return isEmpty ? {} : await readJson(incoming, outgoing, runSchema);
}

async function startRun(c: HttpContext, deps: HandlerDeps, id: string, asked: AskedRun): Promise<Response> {
  const caller = c.get('caller');
  const record = await deps.gateway.plans.read(caller, id);
  if (record === undefined) throw noPlan(id);
  const before = deps.gateway.lastEventId(record.session);
  const messageId = idempotencyKey(c.env.incoming) ?? newId();
  const [say, language] = [await sayToCaller(c, deps), wantedLanguages(c.env.incoming)];
  const run = await deps.gateway.plans.run(caller, id, { messageId, ...asked, say, language });
  if (run === undefined) throw noPlan(id);
  const { receipt, session } = run;
  if (receipt.kind === 'refused') throw refusal(receipt, session);
  checkRepeat(receipt);
  return c.json({ id, action: 'run', ...acceptedAt(receipt, before) }, 202);
}

function noPlan(id: string): HttpError {
  return new HttpError(
    404,
    'plan_not_found',
    `There is no plan "${id.slice(0, 80)}" that this token may see.`,
  );
}
