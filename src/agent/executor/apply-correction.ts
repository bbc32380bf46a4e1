/** Corrects a failed step: checks the limits in their order, makes the correction call and applies its decision (S-21…S-34). */
import type { Emit } from '../deps.ts';
import {
  boundReason,
  cancelReason,
  correctionsLeft,
  MAX_CORRECTIONS,
  type PlanStep,
  type StepResult,
} from '../../protocol/agent/plan.ts';
import { inEnglish, textRef, type TextRef } from '../../protocol/texts/say.ts';
import {
  changeStep,
  describeCommand,
  insertSteps,
  insertStepsBefore,
  type PlanEdit,
  replaceStepCommand,
} from './edits.ts';
import type { AgentCorrection } from './correction-reply.ts';
import type { Execution } from './execution.ts';

/** Corrections that let one step run again; then the plan is stuck (S-21). */
export const MAX_RETRIES_PER_STEP = 3;
/** Users are warned when this share of the corrections is left (S-24). */
export const BUDGET_WARNING_SHARE = 0.3;

/** Decides about a failed step and applies the decision. Throws `StoreError` and the signal's reason. */
export async function correctStep(execution: Execution, step: PlanStep, result: StepResult): Promise<void> {
  const { deps, run, emit } = execution;
  const number = step.index + 1;
  if ((run.retries[step.id] ?? 0) >= MAX_RETRIES_PER_STEP) {
    await getStuck(execution, step, textRef('cancelled.still_fails', { number, most: MAX_RETRIES_PER_STEP }));
    return;
  }
  const remaining = correctionsLeft(run.plan);
  if (remaining <= 0) {
    await getStuck(execution, step, textRef('cancelled.no_corrections', { number, most: MAX_CORRECTIONS }));
    return;
  }
  emit({ type: 'agent_thinking', step });
  if (isWarningDue(remaining)) emit({ type: 'budget_warning', remaining, total: MAX_CORRECTIONS });
  const correction = await deps.correct({
    plan: run.plan,
    step,
    result,
    before: deps.context.toContextString(),
    consecutiveFailures: deps.context.consecutiveFailures,
    refusal: run.refusal,
  });
  // A call that was cut short by a stop returns `abort`, which is not a decision.
  deps.signal.throwIfAborted();
  await applyCorrection(execution, step, correction);
}

/** True at exactly one count, so that the warning comes once (S-34). */
function isWarningDue(remaining: number): boolean {
  const last = MAX_CORRECTIONS * BUDGET_WARNING_SHARE;
  return remaining <= last && remaining + 1 > last;
}

async function getStuck(execution: Execution, step: PlanStep, why: TextRef): Promise<void> {
  execution.emit({ type: 'agent_stuck', step, ...cancelReason(why) });
  await execution.cancel(why);
}

async function applyCorrection(
  execution: Execution,
  step: PlanStep,
  correction: AgentCorrection,
): Promise<void> {
  const { run } = execution;
  if (correction.action === 'abort') {
    await execution.cancel(correction.why ?? correction.reason);
    return;
  }
  const edit = editOf(execution, step, correction);
  if (edit.kind !== 'edited') {
    const why =
      edit.kind === 'too_many_steps'
        ? textRef('cancelled.no_room', { count: edit.left })
        : textRef('cancelled.no_step', { id: edit.stepId });
    // The second refusal in a row ends the plan.
    if (run.refusal !== undefined) await execution.cancel(why);
    else {
      await execution.record({ type: 'refused', stepId: step.id, reason: inEnglish.text(why) });
      execution.emitStep(step.id);
    }
    return;
  }
  const { action, reason } = correction;
  await execution.record({ type: 'corrected', stepId: step.id, action, reason, plan: edit.plan });
  emitCorrection(execution, step, correction);
}

/** A decision with which the plan continues. */
type Amendment = Exclude<AgentCorrection, { action: 'abort' }>;

/**
 * The plan after the decision, which is counted and whose reason is noted on the steps it changes. The failed step is
 * pending again, or skipped.
 */
function editOf(execution: Execution, step: PlanStep, correction: Amendment): PlanEdit {
  const { deps, run } = execution;
  const revision = boundReason(correction.reason);
  const put = (change: Partial<PlanStep>): PlanEdit =>
    changeStep(run.plan, step.id, (failed) => ({
      ...failed,
      ...change,
      corrections: failed.corrections + 1,
    }));
  switch (correction.action) {
    case 'retry':
    case 'modify': {
      const pending = put({ status: 'pending', revision });
      if (pending.kind !== 'edited' || correction.command === undefined) return pending;
      return replaceStepCommand(pending.plan, step.id, correction.command, deps.classify);
    }
    case 'insert_steps': {
      const pending = put({ status: 'pending' });
      if (pending.kind !== 'edited') return pending;
      const added = correction.newSteps.map((proto) => ({ ...proto, revision }));
      return insertStepsBefore(pending.plan, step.id, added, deps.classify);
    }
    case 'skip': {
      const skipped = put({ status: 'skipped', revision });
      if (skipped.kind !== 'edited' || correction.newSteps === undefined) return skipped;
      const instead = correction.newSteps.map((proto) => ({ ...proto, revision }));
      return insertSteps(skipped.plan, step.id, instead, deps.classify);
    }
    default:
      return correction satisfies never;
  }
}

function emitCorrection(execution: Execution, failed: PlanStep, correction: Amendment): void {
  const emit: Emit = execution.emit;
  const { plan, retries } = execution.run;
  const step = execution.step(failed.id) ?? failed;
  switch (correction.action) {
    case 'retry': {
      const attempt = retries[failed.id] ?? 0;
      if (correction.command === undefined) emit({ type: 'retry_attempt', step, attempt });
      else {
        emit({ type: 'retry_attempt', step, attempt, newCommand: describeCommand(correction.command) });
        emit({ type: 'plan_revised', plan, reason: correction.reason });
      }
      return;
    }
    case 'modify':
    case 'insert_steps':
      emit({ type: 'plan_revised', plan, reason: correction.reason });
      return;
    case 'skip':
      if (correction.newSteps !== undefined) emit({ type: 'plan_revised', plan, reason: correction.reason });
      emit({ type: 'step_skipped', step });
      return;
    default:
      correction satisfies never;
  }
}
