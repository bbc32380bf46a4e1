/** A plan as events tell it: whole at first and when it is revised, step by step in between. */

/** @typedef {import('../follow.js').GatewayEvent} GatewayEvent */
/** @typedef {'pending' | 'running' | 'done' | 'failed' | 'skipped'} StepStatus */
/** @typedef {{ kind: 'tool', tool: string } | { kind: 'agent', profileId: string } | { kind: 'self' }} Executor */
/** @typedef {{ id: string, index: number, description: string, executor: Executor, status: StepStatus, attempts: number, corrections: number, revision?: string }} Step */
/** @typedef {{ id: string, goal: string, milestones: string[], steps: Step[], mode: string, state: 'running' | 'paused' | 'completed' | 'cancelled', reason?: string }} Plan */
/**
 * @typedef {object} PlanEventView
 * @property {Plan} plan
 * @property {string} passing What happens to it at this moment; the plan itself does not tell it.
 * @property {string} [analysed] The step the agent thinks about.
 * @property {boolean} recovering
 */

/** Corrections of one plan, all its steps together: the gateway's own number (S-22). */
export const MAX_CORRECTIONS = 10;
/** So few corrections left are a warning (S-24). */
export const FEW_CORRECTIONS = 3;

/**
 * Corrections that the plan still has; every event brings what was used.
 * @param {Pick<Plan, 'steps'>} plan
 */
export function correctionsLeft({ steps }) {
  return MAX_CORRECTIONS - steps.reduce((used, { corrections }) => used + corrections, 0);
}

/**
 * Nothing can be done to it any more.
 * @param {Pick<Plan, 'state'>} plan
 */
export function isOver({ state }) {
  return state === 'completed' || state === 'cancelled';
}

/**
 * The step that runs or is next; undefined when none is left.
 * @param {Pick<Plan, 'steps'>} plan
 */
export function currentStep({ steps }) {
  return steps.find((step) => !isBehind(step));
}

/**
 * Done or left out.
 * @param {Pick<Step, 'status'>} step
 */
export function isBehind({ status }) {
  return status === 'done' || status === 'skipped';
}

/**
 * What an event makes of a plan; the same object when it changes nothing.
 * @param {PlanEventView | undefined} sight
 * @param {GatewayEvent} event
 * @returns {PlanEventView | undefined}
 */
export function advancePlan(sight, event) {
  if (event.type === 'plan_ready') return { plan: event.plan, passing: '', recovering: false };
  if (event.type === 'plan_revised') return { plan: event.plan, passing: '', recovering: true };
  if (sight === undefined) return undefined;
  switch (event.type) {
    case 'plan_completed':
      return inState(sight.plan, 'completed');
    case 'plan_paused':
      return inState(sight.plan, 'paused');
    case 'plan_resumed':
      return inState(sight.plan, 'running');
    case 'plan_cancelled':
      return inState(
        { ...sight.plan, steps: sight.plan.steps.map(cutShort), reason: event.reason },
        'cancelled',
      );
    case 'step_changed':
    case 'step_skipped':
      return withStep(sight, event.step);
    case 'agent_thinking':
      return {
        ...withStep(sight, event.step),
        analysed: event.step.id,
        recovering: true,
        passing: `Step ${event.step.index + 1} failed. Thinking about what to do…`,
      };
    case 'retry_attempt':
      return {
        ...withStep(sight, event.step),
        recovering: true,
        passing: `Step ${event.step.index + 1} is tried again.`,
      };
    default:
      return sight;
  }
}

/**
 * @param {Plan} plan
 * @param {Plan['state']} state
 * @returns {PlanEventView}
 */
function inState(plan, state) {
  return { plan: { ...plan, state }, passing: '', recovering: false };
}

/**
 * A step that runs when its plan is given up does not reach its end.
 * @param {Step} step
 * @returns {Step}
 */
function cutShort(step) {
  return step.status === 'running' ? { ...step, status: 'failed' } : step;
}

/**
 * @param {PlanEventView} sight
 * @param {Step} step
 * @returns {PlanEventView}
 */
function withStep({ plan, passing, recovering }, step) {
  const steps = plan.steps.map((one) => (one.id === step.id ? step : one));
  const behind = isBehind(step);
  return {
    plan: { ...plan, steps },
    passing: step.status === 'running' ? passing : '',
    recovering: recovering && !behind,
  };
}
