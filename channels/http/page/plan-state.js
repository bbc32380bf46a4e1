/** A plan as events tell it: whole at first and when it is revised, step by step in between. */

/** @typedef {import('./follow.js').GatewayEvent} GatewayEvent */
/** @typedef {'pending' | 'running' | 'done' | 'failed' | 'skipped'} StepStatus */
/** @typedef {{ kind: 'tool', tool: string } | { kind: 'agent', profileId: string } | { kind: 'self' }} Executor */
/** @typedef {{ id: string, index: number, description: string, executor: Executor, status: StepStatus, attempts: number, corrections: number, revision?: string }} Step */
/** @typedef {{ id: string, goal: string, milestones: string[], steps: Step[], mode: string, state: 'running' | 'paused' | 'completed' | 'cancelled', reason?: string }} Plan */
/** @typedef {{ plan: Plan, note: string, analysed?: string, recovering: boolean }} PlanSight `analysed` is the step the agent thinks about. */

/**
 * What an event makes of a plan; the same object when it changes nothing.
 * @param {PlanSight | undefined} sight
 * @param {GatewayEvent} event
 * @returns {PlanSight | undefined}
 */
export function advancePlan(sight, event) {
  if (event.type === 'plan_ready') return { plan: event.plan, note: '', recovering: false };
  if (event.type === 'plan_revised')
    return { plan: event.plan, note: `Changed: ${event.reason}`, recovering: true };
  if (sight === undefined) return undefined;
  switch (event.type) {
    case 'plan_completed':
      return inState(sight, 'completed', '');
    case 'plan_paused':
      return inState(sight, 'paused', sight.note);
    case 'plan_resumed':
      return inState(sight, 'running', '');
    case 'plan_cancelled':
      return inState(sight, 'cancelled', event.reason);
    case 'step_changed':
    case 'step_skipped':
      return withStep(sight, event.step);
    case 'agent_thinking':
      return {
        ...withStep(sight, event.step),
        analysed: event.step.id,
        recovering: true,
        note: `Step ${event.step.index + 1} failed. Thinking about what to do…`,
      };
    case 'retry_attempt':
      return {
        ...withStep(sight, event.step),
        recovering: true,
        note: `Step ${event.step.index + 1} is tried again.`,
      };
    case 'agent_stuck':
      return { ...sight, note: `Stuck: ${event.reason}` };
    case 'budget_warning':
      return { ...sight, note: `Corrections left: ${event.remaining} of ${event.total}.` };
    default:
      return sight;
  }
}

/**
 * @param {PlanSight} sight
 * @param {Plan['state']} state
 * @param {string} note
 * @returns {PlanSight}
 */
function inState({ plan }, state, note) {
  return { plan: { ...plan, state }, note, recovering: false };
}

/**
 * @param {PlanSight} sight
 * @param {Step} step
 * @returns {PlanSight}
 */
function withStep({ plan, note, recovering }, step) {
  const steps = plan.steps.map((one) => (one.id === step.id ? step : one));
  const over = step.status === 'done' || step.status === 'skipped';
  return { plan: { ...plan, steps }, note: over ? '' : note, recovering: recovering && !over };
}
