/** Planning before a turn's tool-calling loop: the plan is made once, kept, shown, and found again after a crash. */
import type { Plan } from '../../contracts/plan.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { draftPlan } from './draft-plan.ts';
import { planCard, planForModel, todosOf } from './plan-text.ts';
import { NOTHING_SPENT } from './planning-call.ts';
import type { Spent } from './planning-call.ts';

/**
 * Plans where the profile wants it (N-14). A turn that has its plan already, or has answered already, plans no more; it
 * shows the plan again, and its end if that has come, so that each run of a turn tells of exactly one end.
 * Throws only `StoreError` and the signal's reason.
 */
export async function planTurn(shared: AgentShared, turn: Turn, emit: Emit): Promise<void> {
  const { profile, rows } = turn;
  const over = turn.planned === true || rows.plan !== undefined || rows.answers().length > 0;
  if (profile.planningEnabled && !over) {
    turn.signal.throwIfAborted();
    const spent: Spent = { usage: NOTHING_SPENT };
    try {
      await storePlan(shared, turn, await draftPlan(shared, turn, spent, emit), spent);
    } catch (error) {
      // The turn ends in the middle of its planning: what that cost goes with the end.
      if (spent.usage.promptTokens > 0) turn.otherUsage.add({ ...spent.usage, model: turn.model ?? '' });
      throw error;
    }
  }
  if (turn.plan === undefined) return;
  // A listener of the resumed turn has not seen the plan of its first attempt.
  emit({ type: 'plan_ready', plan: turn.plan });
  emit({ type: 'todo_changed', items: todosOf(turn.plan).map(({ text, status }) => ({ text, status })) });
  // It was over before this attempt began, and its process may have died before the event went out.
  if (turn.plan.state === 'completed') emit({ type: 'plan_completed' });
  if (turn.plan.state === 'cancelled') emit({ type: 'plan_cancelled', reason: turn.plan.reason ?? '' });
}

/** One commit: from here on a resumed turn has the same plan, or knows by the cost that it needs none. */
async function storePlan(
  shared: AgentShared,
  turn: TurnIdentity & TurnContext & TurnProgress,
  plan: Plan | undefined,
  spent: Spent,
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
