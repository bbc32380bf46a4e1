/** Planning before a turn's tool-calling loop: the plan is made and stored once, and loaded again after a crash. */
import type { Plan } from '../../contracts/plan.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { draftPlan } from './draft-plan.ts';
import { planCard, planForModel, todosOf } from './plan-text.ts';
import { NO_USAGE } from './planning-call.ts';
import type { PlanningUsage } from './planning-call.ts';

/**
 * Makes a plan where the profile enables it (N-14), unless the turn was planned or has answered before. A resumed turn
 * emits its plan again, and the end of the plan if it has ended, so that each attempt emits exactly one end. Throws only `StoreError` and the signal's reason.
 */
export async function planTurn(shared: AgentShared, turn: Turn, emit: Emit): Promise<void> {
  const { profile, rows } = turn;
  const over = turn.planned === true || rows.plan !== undefined || rows.answers().length > 0;
  if (profile.planningEnabled && !over) {
    turn.signal.throwIfAborted();
    const spent: PlanningUsage = { usage: NO_USAGE };
    try {
      await storePlan(shared, turn, await draftPlan(shared, turn, spent, emit), spent);
    } catch (error) {
      // The turn ends during its planning: the usage so far is stored with its end.
      if (spent.usage.promptTokens > 0) turn.otherUsage.add({ ...spent.usage, model: turn.model ?? '' });
      throw error;
    }
  }
  if (turn.plan === undefined) return;
  // A subscriber of the resumed turn has not seen the plan of its first attempt.
  emit({ type: 'plan_ready', plan: turn.plan });
  emit({ type: 'todo_changed', items: todosOf(turn.plan).map(({ text, status }) => ({ text, status })) });
  // The plan ended before this attempt, and the process may have died before it emitted the event.
  if (turn.plan.state === 'completed') emit({ type: 'plan_completed' });
  if (turn.plan.state === 'cancelled') emit({ type: 'plan_cancelled', reason: turn.plan.reason ?? '' });
}

/** Stores the plan and its usage in one commit: a resumed turn loads the plan, or learns from the usage that it needs none. */
async function storePlan(
  shared: AgentShared,
  turn: TurnIdentity & TurnContext & TurnProgress,
  plan: Plan | undefined,
  spent: PlanningUsage,
): Promise<void> {
  const { ledger } = shared.deps;
  const cost = { userId: turn.userId, model: turn.model ?? '', usage: spent.usage };
  if (plan === undefined) {
    if (spent.usage.promptTokens > 0) await ledger.storePlan(turn.fence, turn.turnId, cost);
    return;
  }
  turn.rows.add(0, { kind: 'plan', planId: plan.id, content: planForModel(plan) });
  const rows = turn.rows.fresh();
  const made = { plan, card: planCard(plan), todos: todosOf(plan), rows };
  await ledger.storePlan(turn.fence, turn.turnId, { made, ...cost });
  turn.rows.journaled(rows);
  turn.plan = plan;
}
