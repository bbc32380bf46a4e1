/** In planner mode the model works through its todo list, and the steps of the plan follow the list. */
import { isAnswered, type TurnEndReason } from '../../protocol/event.ts';
import { newId } from '../../lib/ids.ts';
import {
  cancelPlan,
  cancelReason,
  isOpenPlan,
  type Plan,
  type PlanStep,
  type StepStatus,
} from '../../protocol/agent/plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { type Todo, type TodoStatus, todoText } from '../../protocol/store/notes.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { TODO_TOOL } from '../prompt/nudges.ts';
import type { Turn } from '../turn/turn-state.ts';

/**
 * Updates the plan from the todo list after calls of these tools, which may have changed it; a rewritten list revises the
 * plan. Idempotent, so it may be repeated after a crash. Throws `StoreError`.
 */
export async function followTodos(
  shared: AgentShared,
  turn: Turn,
  tools: readonly string[],
  emit: Emit,
): Promise<void> {
  const { plan } = turn;
  if (plan?.mode !== 'planner' || plan.state !== 'running') return;
  // A subagent's todo list is its parent's (N-10) and not that of its own plan.
  if (turn.parentTurnId !== undefined || !tools.some(changesTodos)) return;
  const items = await shared.stores.todos.todos(turn.sessionKey);
  if (items.length === 0) return;
  const steps = stepsAfter(plan, items);
  const changedSteps = steps.filter((step) => step !== plan.steps[step.index]);
  const revised = steps.length !== plan.steps.length || steps.some(isNewAtIndex(plan));
  if (changedSteps.length === 0 && !revised) return;
  const completed = steps.every(({ status }) => status === 'done' || status === 'skipped');
  const next: Plan = { ...plan, steps, state: completed ? 'completed' : 'running' };
  await shared.stores.ledger.updatePlan(turn.fence, next);
  turn.plan = next;
  if (revised) emit({ type: 'plan_revised', plan: next, reason: turn.say('cancelled.rewritten') });
  else for (const step of changedSteps) emit({ type: 'step_changed', step });
  if (completed) emit({ type: 'plan_completed' });
}

/** Only these tools change the list. */
function changesTodos(tool: string): boolean {
  return tool === TODO_TOOL || tool === SPAWN_TOOL;
}

/** Ends a plan that is still open when its turn ends: each plan has exactly one terminal event. Throws `StoreError`. */
export async function settlePlan(
  { stores: { ledger } }: AgentShared,
  turn: Turn,
  reason: TurnEndReason,
  emit: Emit,
): Promise<void> {
  const { plan } = turn;
  if (plan === undefined || !isOpenPlan(plan)) return;
  const cause = textRef(`cancelled.${reason}`);
  const because = cancelReason(cause);
  const isIgnored = plan.steps.every(({ status, attempts }) => status === 'pending' && attempts === 0);
  const next: Plan = isAnswered(reason)
    ? { ...plan, state: isIgnored ? 'ignored' : 'completed' }
    : cancelPlan(plan, because.reason, cause);
  await ledger.updatePlan(turn.fence, next);
  turn.plan = next;
  if (next.state === 'cancelled') emit({ type: 'plan_cancelled', ...because });
  else emit({ type: isIgnored ? 'plan_ignored' : 'plan_completed' });
}

const STATUS: Record<TodoStatus, StepStatus> = {
  pending: 'pending',
  in_progress: 'running',
  done: 'done',
  failed: 'failed',
  skipped: 'skipped',
};

/** The steps of a changed list: a known step gets a new index and status, an unknown one becomes a step of the agent itself. */
function stepsAfter(plan: Plan, items: readonly Todo[]): PlanStep[] {
  const rest = [...plan.steps];
  return items.map(({ text, status }, index) => {
    const at = rest.findIndex(({ description }) => todoText(description) === text);
    const [match] = at < 0 ? [] : rest.splice(at, 1);
    if (match === undefined) return ownStep(index, text, STATUS[status]);
    return stepAt(match, index, STATUS[status]);
  });
}

function stepAt(step: PlanStep, index: number, status: StepStatus): PlanStep {
  if (step.index === index && step.status === status) return step;
  const isStart = status !== 'pending' && status !== 'skipped' && step.status === 'pending';
  return { ...step, index, status, attempts: step.attempts + (isStart ? 1 : 0) };
}

function ownStep(index: number, description: string, status: StepStatus): PlanStep {
  const executor = { kind: 'self' as const };
  const attempts = status === 'pending' || status === 'skipped' ? 0 : 1;
  return { id: newId(), index, description, executor, risk: 'safe', status, attempts, corrections: 0 };
}

function isNewAtIndex(plan: Plan): (step: PlanStep) => boolean {
  return (step) => step.id !== plan.steps[step.index]?.id;
}
