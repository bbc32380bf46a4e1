/** The plan executor: a loop over the steps of a plan, which corrections may change, within four limits (S-01, S-20…S-38). */
import { LaneAbort } from '../../protocol/bus.ts';
import { GatewayError, messageForPerson, StoreError } from '../../protocol/errors.ts';
import { clipMiddle } from '../../lib/text.ts';
import type { PlanStep } from '../../protocol/agent/plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { correctStep } from './apply-correction.ts';
import { Execution, type ExecutorDeps, failedBecause, type StepOutcome } from './execution.ts';
import { currentStep, type PlanRun } from './run-state.ts';

/** Longest piece of a failed step's result in the reason of a cancelled plan, in UTF-16 units. */
const MAX_REASON_CHARS = 400;

/**
 * Runs a plan to its terminal event and returns its final state. It continues at `start`: a step whose run had begun
 * before a crash runs under the same number. Throws `StoreError`, the signal's reason (a stop cancels the plan first), and
 * what `gate` and `park` throw.
 */
export async function executePlan(deps: ExecutorDeps, start: PlanRun): Promise<PlanRun> {
  const execution = new Execution(deps, start);
  try {
    return await runSteps(execution);
  } catch (error) {
    if (error instanceof LaneAbort && (error.code === 'stopped' || error.code === 'interrupted'))
      await execution.cancel(
        textRef(error.code === 'stopped' ? 'cancelled.by_user' : 'cancelled.interrupted'),
      );
    throw error;
  }
}

async function runSteps(execution: Execution): Promise<PlanRun> {
  const { deps } = execution;
  while (execution.open) {
    deps.signal.throwIfAborted();
    const step = currentStep(execution.run);
    if (step === undefined) {
      await execution.record({ type: 'completed' });
      execution.emit({ type: 'plan_completed' });
      break;
    }
    if (execution.run.running === undefined && !(await passesGate(execution, step))) continue;
    const { failed, plan } = execution.run;
    if (failed === undefined) await runStep(execution, step);
    else if (plan.mode === 'agentic') await correctStep(execution, step, failed);
    else {
      const why = failed.why ?? clipMiddle(failed.content, MAX_REASON_CHARS);
      await execution.cancel(textRef('cancelled.step_failed', { number: step.index + 1, why }));
    }
  }
  return execution.run;
}

/** Asks the gate. False when the gate changed the plan, so that the loop must start over. */
async function passesGate(execution: Execution, step: PlanStep): Promise<boolean> {
  const { deps, emit } = execution;
  const verdict = await deps.gate(step, execution.run);
  const paused = execution.run.plan.state === 'paused';
  if (verdict.kind === 'edit') {
    await execution.record({ type: 'edited', plan: verdict.plan });
    emit({ type: 'plan_edited', plan: execution.run.plan });
    return false;
  }
  if (verdict.kind === 'pause') {
    if (!paused) {
      await execution.record({ type: 'paused' });
      emit({ type: 'plan_paused' });
    }
    await deps.park(step, execution.run);
    return false;
  }
  if (verdict.kind === 'cancel') {
    await execution.cancel(verdict.why);
    return false;
  }
  if (paused) {
    await execution.record({ type: 'resumed' });
    emit({ type: 'plan_resumed' });
  }
  if (verdict.kind === 'go') return true;
  await execution.record({ type: 'step_skipped', stepId: step.id });
  emit({ type: 'step_skipped', step: execution.step(step.id) ?? step });
  return false;
}

/** Runs a step, with a fact for its start and its end; a run that was begun before a crash keeps its number. */
async function runStep(execution: Execution, step: PlanStep): Promise<void> {
  const { deps } = execution;
  if (execution.run.running === undefined) {
    const begins = { type: 'step_began', stepId: step.id, run: execution.run.runs + 1 } as const;
    // The loop starts over, and its gate applies what was changed.
    if (!(await execution.record(begins))) return;
  }
  execution.emitStep(step.id);
  const begun = execution.step(step.id) ?? step;
  const outcome = await outcomeOf(execution, begun);
  const result = { ...outcome, attemptIndex: begun.attempts - 1 };
  await execution.record({ type: 'step_ended', stepId: step.id, result });
  const ended = execution.step(step.id) ?? step;
  deps.context.addStep(ended, result);
  execution.emit({ type: 'step_changed', step: ended });
}

async function outcomeOf(execution: Execution, step: PlanStep): Promise<StepOutcome> {
  const { deps, run } = execution;
  try {
    return await deps.runStep(step, run.running ?? run.runs, run);
  } catch (error) {
    // Errors that end the turn or come from the store are not a failure of the step.
    deps.signal.throwIfAborted();
    if (!(error instanceof GatewayError) || error instanceof StoreError || error instanceof LaneAbort) {
      throw error;
    }
    const text = messageForPerson(error);
    return typeof text === 'string' ? { content: text, isError: true } : failedBecause(text);
  }
}
