/** A plan put together from a turn's events, which tell only what has changed. Pure. */
import type { AgentEvent } from '../../contracts/event.ts';
import { cancelPlan } from '../../contracts/plan.ts';
import type { Plan, PlanStep } from '../../contracts/plan.ts';

/** A plan as it is stored, and what passes at this moment: a thought, another try. */
export interface PlanEventView {
  plan: Plan;
  note?: string | undefined;
}

/** What one event makes of it; the same object when it changes nothing. Events of subagents' own plans do not come here. */
export function advancePlan(sight: PlanEventView | undefined, event: AgentEvent): PlanEventView | undefined {
  if (event.type === 'plan_ready' || event.type === 'plan_revised') return { plan: event.plan };
  if (sight === undefined) return undefined;
  const { plan } = sight;
  const set = (state: Plan['state']): PlanEventView => ({ plan: { ...plan, state } });
  switch (event.type) {
    case 'plan_completed':
      return set('completed');
    case 'plan_paused':
      return set('paused');
    case 'plan_resumed':
      return set('running');
    case 'plan_cancelled':
      return { plan: cancelPlan(plan, event.reason) };
    case 'step_changed':
    case 'step_skipped':
      return withStep(sight, event.step, undefined);
    case 'agent_thinking':
      return withStep(
        sight,
        event.step,
        `⚡ Step ${event.step.index + 1} failed; thinking about what to do…`,
      );
    case 'retry_attempt':
      return withStep(sight, event.step, `Step ${event.step.index + 1} is tried again.`);
    default:
      return sight;
  }
}

/** A plan with one step replaced; a step it does not have waits for the plan that brings it. */
function withStep({ plan, note }: PlanEventView, step: PlanStep, said: string | undefined): PlanEventView {
  const steps = plan.steps.map((one) => (one.id === step.id ? step : one));
  const kept = step.status === 'running' ? note : undefined;
  return { plan: { ...plan, steps }, note: said ?? kept };
}
