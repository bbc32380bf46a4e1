/** The route that acts on a running plan. */
import type { PlanAction } from '../../../src/contracts/plan-store.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError } from '../errors.ts';

const ACTIONS: readonly PlanAction[] = ['run', 'skip', 'pause', 'resume', 'stop'];

/**
 * Runs or skips a step, pauses, resumes or stops a plan; 409 says why nothing changed. Needs no body. `?step=` names the
 * step to skip: a press that comes too late must not skip the next one.
 */
export async function actOnPlan(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const action = ACTIONS.find((one) => one === c.req.param('action'));
  if (action === undefined) {
    throw new HttpError(404, 'not_found', `The actions of a plan are ${ACTIONS.join(', ')}.`);
  }
  const answer = await deps.gateway.actOnPlan(c.get('caller'), id, action, c.req.query('step'));
  if (answer === undefined) {
    throw new HttpError(
      404,
      'plan_not_found',
      `There is no plan "${id.slice(0, 80)}" that this token may see.`,
    );
  }
  if (!answer.done) throw new HttpError(409, 'plan_unchanged', answer.text);
  return c.json({ id, action, text: answer.text });
}
