/** Planning before a turn's tool-calling loop: the plan is made and stored once, and loaded again after a crash. */
import { withSources } from '../../protocol/store/notes.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { isOpenPlan, type Plan } from '../../protocol/agent/plan.ts';
import { parseAddress } from '../../protocol/message.ts';
import type { EventBody } from '../../protocol/event.ts';
import { newRun, versionOf } from '../../protocol/agent/plan-edits.ts';
import { cardDelivery, type PlanToRun, runIdOf } from '../../protocol/agent/plan-store.ts';
import { planningIn } from '../../protocol/agent/profile.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { draftPlan, NO_USAGE, type NoPlan, type PlanningUsage } from './draft-plan.ts';
import { planCalls } from '../prompt/nudges.ts';
import {
  lastPlanResult,
  noPlanResult,
  planCard,
  planForModel,
  planResult,
  SECOND_PLAN_RESULT,
  todosOf,
} from './plan-text.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { Turn } from '../turn/turn-state.ts';

/**
 * Makes a plan where the profile always plans (N-14), or a person has chosen a mode that runs plans, unless the turn was planned or has answered before. A resumed turn
 * emits its plan again, and the end of the plan if it has ended, so that each attempt emits exactly one end. Throws only `StoreError` and the signal's reason.
 */
export async function planTurn(shared: AgentShared, turn: Turn, emit: Emit): Promise<void> {
  const isBegun = turn.rows.answers().length > 0;
  if (turn.toRun !== undefined) await beginRun(shared, turn, turn.toRun, emit);
  else if (planningIn(turn.profile, turn.mode) === 'always' && !isBegun)
    await makeOnce(shared, turn, {}, emit);
  if (turn.plan === undefined) return;
  // A subscriber of the resumed turn has not seen the plan of its first attempt.
  emitPlanReady(turn.plan, emit);
  // The plan ended before this attempt, and the process may have died before it emitted the event.
  if (turn.plan.state === 'completed') emit({ type: 'plan_completed' });
  if (turn.plan.state === 'ignored') emit({ type: 'plan_ignored' });
  if (turn.plan.state === 'cancelled') emit(endOf(turn.plan));
}

/**
 * Makes the plan that a call of the tool `plan` asks for, unless the turn was planned before, and returns what the model
 * reads of it: its steps, or why there is none, and what became of the plan before. Throws only `StoreError` and the signal's reason.
 */
export async function planOnCall(shared: AgentShared, turn: Turn, goal: string, emit: Emit): Promise<string> {
  const isFirst = planCalls(turn.rows).length === 0;
  const earlierPlan = turn.plan;
  const lastPlan = isFirst ? await shared.stores.plans.latestPlan(turn.sessionKey) : undefined;
  const noPlan = await makeOnce(shared, turn, { goal }, emit);
  if (turn.plan === undefined) return noPlanResult(noPlan);
  if (earlierPlan === undefined) emitPlanReady(turn.plan, emit);
  if (!isFirst) return SECOND_PLAN_RESULT;
  const lastResult = lastPlan?.turnId === turn.turnId ? undefined : lastPlan && lastPlanResult(lastPlan.plan);
  return [planResult(turn.plan), ...(lastResult === undefined ? [] : [lastResult])].join('\n\n');
}

/** True when the n-th answer asked for the plan that the turn now has. */
export function hasPlannedOn({ rows, plan }: Turn, n: number): boolean {
  return plan !== undefined && planCalls(rows)[0]?.iteration === n;
}

/**
 * Makes and stores the plan that a person asked for with `/plan`, and returns the sentence that answers: nothing of the
 * plan runs. Throws what `draftPlan` throws, and `GatewayError('no_plan')` when the model wrote none.
 */
export async function planOnly(shared: AgentShared, turn: Turn, emit: Emit): Promise<string> {
  await makeOnce(shared, turn, { required: true }, emit);
  if (turn.plan === undefined) throw new GatewayError('no_plan', textRef('turn.no_steps'));
  emitPlanReady(turn.plan, emit);
  return turn.say('turn.plan_made');
}

/**
 * Begins a run of a stored plan, unless that was done before a crash. Throws `GatewayError('plan_changed')` when it is
 * no longer the plan that was to be run, and `StoreError`.
 */
async function beginRun(
  shared: AgentShared,
  turn: Turn,
  { id, version, run }: PlanToRun,
  emit: Emit,
): Promise<void> {
  if (turn.rows.plan !== undefined) return;
  const record = await shared.stores.plans.plan(id);
  const original = record?.plan;
  const isSame =
    original !== undefined && versionOf(original) === version && (original.runs ?? 0) === run - 1;
  if (record === undefined || original === undefined || !isSame || isOpenPlan(original))
    throw new GatewayError('plan_changed', textRef('turn.run_changed'));
  turn.rows.taint.add(original.sources ?? []);
  const plan = newRun(original, { id: runIdOf(id, run), mode: turn.mode, run });
  await storePlan(shared, turn, plan, { usage: NO_USAGE });
  emit({ type: 'plan_edited', plan: { ...original, runs: run } });
  const { address } = record;
  if (original.state !== 'stored' || address === undefined || parseAddress(address).channel === 'http')
    return;
  // The buttons of its card start the next run from now on.
  await shared.stores.ledger.enqueue(address, cardDelivery(original, address, run));
}

/** Makes the turn's plan, unless that was done before a crash or by an earlier call; returns why there is none now. */
async function makeOnce(
  shared: AgentShared,
  turn: Turn,
  { goal, required }: { goal?: string | undefined; required?: boolean },
  emit: Emit,
): Promise<NoPlan | undefined> {
  if (turn.planned === true || turn.rows.plan !== undefined) return undefined;
  turn.signal.throwIfAborted();
  const total: PlanningUsage = { usage: NO_USAGE };
  try {
    const draft = await draftPlan(shared, turn, { spent: total, goal, required }, emit);
    const noPlan = typeof draft === 'string' ? draft : undefined;
    await storePlan(shared, turn, typeof draft === 'string' ? undefined : draft, total);
    turn.planned = true;
    return noPlan;
  } catch (error) {
    // The turn ends during its planning: the usage so far is stored with its end.
    if (total.usage.promptTokens > 0) turn.otherUsage.add({ ...total.usage, model: turn.model ?? '' });
    throw error;
  }
}

function endOf({ reason = '', why: reasonRef }: Plan): EventBody & { type: 'plan_cancelled' } {
  return { type: 'plan_cancelled', reason, ...(reasonRef !== undefined && { why: reasonRef }) };
}

function emitPlanReady(plan: Plan, emit: Emit): void {
  emit({ type: 'plan_ready', plan });
  if (plan.state === 'stored') return;
  emit({ type: 'todo_changed', items: todosOf(plan).map(({ text, status }) => ({ text, status })) });
}

/** Stores the plan and its usage in one commit: a resumed turn loads the plan, or learns from the usage that it needs none. */
async function storePlan(
  { stores: { ledger } }: AgentShared,
  turn: Turn,
  plan: Plan | undefined,
  total: PlanningUsage,
): Promise<void> {
  const cost = { userId: turn.userId, model: turn.model ?? '', usage: total.usage };
  if (plan === undefined) {
    if (total.usage.promptTokens > 0) await ledger.storePlan(turn.fence, turn.turnId, cost);
    return;
  }
  turn.rows.add(0, { kind: 'plan', planId: plan.id, content: planForModel(plan) });
  const rows = turn.rows.fresh();
  const { sources } = turn.rows.taint;
  const todos = plan.state === 'stored' ? undefined : withSources(todosOf(plan), sources);
  const planWithSources = sources.length === 0 ? plan : { ...plan, sources };
  const planRecord = { plan: planWithSources, card: planCard(plan, turn.say), todos, rows };
  await ledger.storePlan(turn.fence, turn.turnId, { made: planRecord, ...cost });
  turn.rows.journaled(rows);
  turn.plan = planWithSources;
}
