/** Buttons under a plan's card, and the comparison of two cards. Pure. */
import type { Rendered } from '../../contracts/channel.ts';
import type { Button } from '../../contracts/message.ts';
import { openStep } from '../../contracts/plan.ts';
import type { Plan } from '../../contracts/plan.ts';
import { planButtonValue } from '../../contracts/plan-store.ts';

/**
 * The buttons under a running plan; a paused one has none, because its question has Resume and Stop. Only agentic plans
 * have more than Stop: in planner mode the model follows the plan, in teacher mode each step has a question with Run and Skip.
 */
export function planButtons(plan: Plan): Button[] {
  if (plan.state !== 'running') return [];
  const { id: planId } = plan;
  const stop: Button = { label: 'Stop', value: planButtonValue({ planId, action: 'stop' }), style: 'danger' };
  if (plan.mode !== 'agentic') return [stop];
  const pause: Button = { label: 'Pause', value: planButtonValue({ planId, action: 'pause' }) };
  const step = openStep(plan);
  if (step === undefined) return [pause, stop];
  const value = planButtonValue({ planId, action: 'skip', stepId: step.id });
  return [pause, { label: `Skip step ${step.index + 1}`, value }, stop];
}

/** Equal for two cards exactly when no edit is needed to turn one into the other. */
export function lookOf({ text }: Pick<Rendered, 'text'>, buttons: readonly Button[]): string {
  return JSON.stringify([text, buttons]);
}
