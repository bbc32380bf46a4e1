/** The routes that act on a plan while it is carried out. */
import type { PlanAction } from '../../../src/contracts/plan-store.ts';
import type { Door, HttpContext } from '../http-api.ts';
import { HttpFault } from '../errors.ts';

const ACTIONS: readonly PlanAction[] = ['run', 'skip', 'pause', 'resume', 'stop'];

/**
 * Runs, skips, pauses, resumes or stops; 409 says why nothing was changed. Needs no body. `?step=` names the step that a
 * skip is meant for: pressed too late, it must not hit the next one.
 */
export async function actOnPlan(c: HttpContext, door: Door): Promise<Response> {
  const id = c.req.param('id') ?? '';
  const action = ACTIONS.find((one) => one === c.req.param('action'));
  if (action === undefined) {
    throw new HttpFault(404, 'not_found', `A plan takes ${ACTIONS.join(', ')}.`);
  }
  const answer = await door.gateway.actOnPlan(c.get('caller'), id, action, c.req.query('step'));
  if (answer === undefined) {
    throw new HttpFault(
      404,
      'plan_not_found',
      `There is no plan "${id.slice(0, 80)}" that this token may see.`,
    );
  }
  if (!answer.done) throw new HttpFault(409, 'plan_unchanged', answer.text);
  return c.json({ id, action, text: answer.text });
}
