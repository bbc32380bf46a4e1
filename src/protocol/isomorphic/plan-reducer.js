/** A plan and what events make of it: plain JavaScript without imports, because gateway and page both run it. Pure. */

/** @typedef {import('../event.ts').AgentEvent} AgentEvent */
/** @typedef {import('./plan-types.ts').Plan} Plan */
/** @typedef {import('./plan-types.ts').PlanStep} PlanStep */

/**
 * A plan built from events, with its current activity, which stored plans do not contain.
 * @typedef {object} PlanEventView
 * @property {Plan} plan
 * @property {import('../texts/say.ts').TextRef} [note] What is happening now, as a sentence.
 * @property {string} [analysedStepId] The failed step that the agent is thinking about.
 * @property {boolean} [recovering] True from a failure until the step is done or skipped.
 */

/** Corrections of one plan, all its steps together; then it is stuck (S-22). */
export const MAX_CORRECTIONS = 10;
/** With this many corrections left, there is a warning (S-24). */
export const FEW_CORRECTIONS = 3;
/** Longest reason that a plan or a step keeps, in UTF-16 units. */
export const MAX_REASON_CHARS = 500;

/**
 * False permanently once a plan is completed or cancelled.
 * @param {Pick<Plan, 'state'>} plan
 */
export function isOpenPlan({ state }) {
  return state === 'running' || state === 'paused';
}

/**
 * True for a step with nothing left to do: it was done or skipped.
 * @param {Pick<PlanStep, 'status'>} step
 */
export function isSettledStep({ status }) {
  return status === 'done' || status === 'skipped';
}

/**
 * The step that runs, has failed or is next; undefined when none is left.
 * @param {Pick<Plan, 'steps'>} plan
 * @returns {PlanStep | undefined}
 */
export function openStep({ steps }) {
  return steps.find((step) => !isSettledStep(step));
}

/**
 * True for a plan whose turn answered while steps were left: it is over, and not everything was done.
 * @param {Pick<Plan, 'state' | 'steps'>} plan
 */
export function endedEarly({ state, steps }) {
  return state === 'completed' && openStep({ steps }) !== undefined;
}

/**
 * Corrections that the plan still has (S-22); its steps record what was used, and none is ever removed.
 * @param {Pick<Plan, 'steps'>} plan
 * @returns {number}
 */
export function correctionsLeft({ steps }) {
  return MAX_CORRECTIONS - steps.reduce((sum, { corrections }) => sum + corrections, 0);
}

/**
 * The plan cancelled, with the reason, also as worded for people; a step that was running becomes failed. Never throws.
 * @param {Plan} plan
 * @param {string} reason
 * @param {import('../texts/say.ts').TextRef} [reasonRef]
 * @returns {Plan}
 */
export function cancelPlan(plan, reason, reasonRef) {
  /** @type {PlanStep[]} */
  const steps = plan.steps.map((step) => (step.status === 'running' ? { ...step, status: 'failed' } : step));
  return {
    ...plan,
    steps,
    state: 'cancelled',
    reason: boundReason(reason),
    ...(reasonRef !== undefined && { why: reasonRef }),
  };
}

/**
 * Shortens a reason to the limit. Never throws.
 * @param {string} text
 * @returns {string}
 */
export function boundReason(text) {
  if (text.length <= MAX_REASON_CHARS) return text;
  return `${text.slice(0, MAX_REASON_CHARS - 1).toWellFormed()}…`;
}

/**
 * Returns the plan after one event; the same object when it changes nothing. Must not be called with events of
 * subagents' own plans. Never throws.
 * @param {PlanEventView | undefined} view
 * @param {AgentEvent} event
 * @returns {PlanEventView | undefined}
 */
export function advancePlan(view, event) {
  if (event.type === 'plan_ready') return { plan: event.plan };
  if (event.type === 'plan_revised') return { plan: event.plan, recovering: true };
  if (event.type === 'plan_edited')
    return view?.plan.id === event.plan.id ? { ...view, plan: event.plan } : view;
  if (view === undefined) return undefined;
  switch (event.type) {
    case 'plan_completed':
      return inState(view.plan, 'completed');
    case 'plan_ignored':
      return inState(view.plan, 'ignored');
    case 'plan_paused':
      return inState(view.plan, 'paused');
    case 'plan_resumed':
      return inState(view.plan, 'running');
    case 'plan_cancelled':
      return { plan: cancelPlan(view.plan, event.reason, event.why) };
    case 'step_changed':
    case 'step_skipped':
      return withStep(view, event.step);
    case 'agent_thinking':
      return {
        plan: withStep(view, event.step).plan,
        note: { key: 'step.thinking', values: { number: event.step.index + 1 } },
        analysedStepId: event.step.id,
        recovering: true,
      };
    case 'retry_attempt':
      return {
        plan: withStep(view, event.step).plan,
        note: { key: 'step.again', values: { number: event.step.index + 1 } },
        recovering: true,
      };
    default:
      return view;
  }
}

/**
 * @param {Plan} plan
 * @param {Plan['state']} state
 * @returns {PlanEventView}
 */
function inState(plan, state) {
  return { plan: { ...plan, state } };
}

/**
 * The plan with one step replaced; an unknown step is ignored until a plan contains it. A note stays until a step has
 * ended.
 * @param {PlanEventView} view
 * @param {PlanStep} step
 * @returns {PlanEventView}
 */
function withStep(view, step) {
  const steps = view.plan.steps.map((one) => (one.id === step.id ? step : one));
  const now = step.status === 'running' ? view : {};
  const recovering = view.recovering === true && !isSettledStep(step);
  return { ...now, plan: { ...view.plan, steps }, recovering };
}
