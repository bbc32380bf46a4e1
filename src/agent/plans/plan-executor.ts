/**
 * The plan executor: a loop over the steps of a plan, which corrections may change, within four limits (S-01, S-20…S-38).
 * A failed step is corrected here: the limits in their order, the correction call, and its decision (S-21…S-34).
 */
import { LaneAbort } from '../../protocol/bus.ts';
import { GatewayError, messageForPerson, StoreError } from '../../protocol/errors.ts';
import {
  boundReason,
  cancelReason,
  correctionsLeft,
  MAX_CORRECTIONS,
  type Plan,
  type PlanFact,
  type PlanStep,
  type StepResult,
} from '../../protocol/agent/plan.ts';
import { inEnglish, textRef, type TextRef } from '../../protocol/texts/say.ts';
import { clipMiddle } from '../../lib/text.ts';
import type { Emit } from '../deps.ts';
import type { AgentCorrection, Failure } from './correction.ts';
import {
  changeStep,
  type Classify,
  describeCommand,
  insertSteps,
  insertStepsBefore,
  type PlanEdit,
  replaceStepCommand,
} from './edits.ts';
import type { GateVerdict } from './gate.ts';
import type { RollingContext } from './rolling-context.ts';
import { applyFact, currentStep, failedBecause, type PlanRun, type StepOutcome } from './run-state.ts';

/** Corrections that let one step run again; then the plan is stuck (S-21). */
export const MAX_RETRIES_PER_STEP = 3;
/** Users are warned when this share of the corrections is left (S-24). */
export const BUDGET_WARNING_SHARE = 0.3;
/** Longest piece of a failed step's result in the reason of a cancelled plan, in UTF-16 units. */
const MAX_REASON_CHARS = 400;

/** A decision with which the plan continues. */
type Amendment = Exclude<AgentCorrection, { action: 'abort' }>;

/** Runs one plan. Each change of its state is committed as a fact before its event is emitted. */
export abstract class PlanExecutor {
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly #classify: Classify;
  /** Earlier steps, for the correction call. */
  readonly #context: RollingContext;
  #run: PlanRun;

  constructor(start: PlanRun, context: RollingContext, classify: Classify, emit: Emit, signal: AbortSignal) {
    this.#run = start;
    this.#context = context;
    this.#classify = classify;
    this.emit = emit;
    this.signal = signal;
  }

  /**
   * Commits fact number `n` and the plan after it; a fact that is already stored is kept. False, without a commit, when
   * a step would begin that people have changed in the meantime. Throws `StoreError`.
   */
  protected abstract journal(n: number, fact: PlanFact, plan: Plan): Promise<boolean>;

  /** Runs a step; `run` is the number of the run, for its own journal. A plain `GatewayError` means that the step failed. */
  protected abstract runStep(step: PlanStep, run: number, state: PlanRun): Promise<StepOutcome>;

  /** The correction call; never throws (S-11). */
  protected abstract correct(failure: Failure): Promise<AgentCorrection>;

  /** Called before each step and each correction. May end the turn by throwing, to wait for a human. */
  protected abstract gate(step: PlanStep, state: PlanRun): Promise<GateVerdict>;

  /** Ends the turn until the plan is resumed. */
  protected abstract park(step: PlanStep, state: PlanRun): Promise<void>;

  /**
   * Runs the plan to its terminal event and returns its final state. It continues where it was: a step whose run had
   * begun before a crash runs under the same number. Throws `StoreError`, the signal's reason (a stop cancels the plan
   * first), and what `gate` and `park` throw.
   */
  async execute(): Promise<PlanRun> {
    try {
      while (this.#isOpen) await this.#advance();
      return this.#run;
    } catch (error) {
      if (error instanceof LaneAbort && (error.code === 'stopped' || error.code === 'interrupted'))
        await this.#cancel(textRef(error.code === 'stopped' ? 'cancelled.by_user' : 'cancelled.interrupted'));
      throw error;
    }
  }

  get #isOpen(): boolean {
    return this.#run.plan.state === 'running' || this.#run.plan.state === 'paused';
  }

  async #advance(): Promise<void> {
    this.signal.throwIfAborted();
    const step = currentStep(this.#run);
    if (step === undefined) {
      await this.#record({ type: 'completed' });
      this.emit({ type: 'plan_completed' });
      return;
    }
    if (this.#run.running === undefined && !(await this.#passesGate(step))) return;
    const { failed: failure, plan } = this.#run;
    if (failure === undefined) await this.#runStep(step);
    else if (plan.mode === 'agentic') await this.#correctStep(step, failure);
    else {
      const cause = failure.why ?? clipMiddle(failure.content, MAX_REASON_CHARS);
      await this.#cancel(textRef('cancelled.step_failed', { number: step.index + 1, why: cause }));
    }
  }

  /** Asks the gate. False when the gate changed the plan, so that the loop must start over. */
  async #passesGate(step: PlanStep): Promise<boolean> {
    const verdict = await this.gate(step, this.#run);
    const paused = this.#run.plan.state === 'paused';
    if (verdict.kind === 'edit') {
      await this.#record({ type: 'edited', plan: verdict.plan });
      this.emit({ type: 'plan_edited', plan: this.#run.plan });
      return false;
    }
    if (verdict.kind === 'pause') {
      if (!paused) {
        await this.#record({ type: 'paused' });
        this.emit({ type: 'plan_paused' });
      }
      await this.park(step, this.#run);
      return false;
    }
    if (verdict.kind === 'cancel') {
      await this.#cancel(verdict.why);
      return false;
    }
    if (paused) {
      await this.#record({ type: 'resumed' });
      this.emit({ type: 'plan_resumed' });
    }
    if (verdict.kind === 'go') return true;
    await this.#record({ type: 'step_skipped', stepId: step.id });
    this.emit({ type: 'step_skipped', step: this.#step(step) });
    return false;
  }

  /** Runs a step, with a fact for its start and its end; a run that was begun before a crash keeps its number. */
  async #runStep(step: PlanStep): Promise<void> {
    if (this.#run.running === undefined) {
      const start = { type: 'step_began', stepId: step.id, run: this.#run.runs + 1 } as const;
      // The loop starts over, and its gate applies what was changed.
      if (!(await this.#record(start))) return;
    }
    const running = this.#step(step);
    this.emit({ type: 'step_changed', step: running });
    const outcome = await this.#outcomeOf(running);
    const result = { ...outcome, attemptIndex: running.attempts - 1 };
    await this.#record({ type: 'step_ended', stepId: step.id, result });
    this.#context.addStep(this.#step(step), result);
    this.emit({ type: 'step_changed', step: this.#step(step) });
  }

  async #outcomeOf(step: PlanStep): Promise<StepOutcome> {
    try {
      return await this.runStep(step, this.#run.running ?? this.#run.runs, this.#run);
    } catch (error) {
      // Errors that end the turn or come from the store are not a failure of the step.
      this.signal.throwIfAborted();
      if (!(error instanceof GatewayError) || error instanceof StoreError || error instanceof LaneAbort) {
        throw error;
      }
      const text = messageForPerson(error);
      return typeof text === 'string' ? { content: text, isError: true } : failedBecause(text);
    }
  }

  /** Asks for a decision about a failed step, within the limits, and applies it. */
  async #correctStep(step: PlanStep, result: StepResult): Promise<void> {
    const { plan, retries, refusal } = this.#run;
    const number = step.index + 1;
    if ((retries[step.id] ?? 0) >= MAX_RETRIES_PER_STEP)
      return await this.#stick(
        step,
        textRef('cancelled.still_fails', { number, most: MAX_RETRIES_PER_STEP }),
      );
    const remaining = correctionsLeft(plan);
    if (remaining <= 0)
      return await this.#stick(step, textRef('cancelled.no_corrections', { number, most: MAX_CORRECTIONS }));
    this.emit({ type: 'agent_thinking', step });
    if (isWarningDue(remaining)) this.emit({ type: 'budget_warning', remaining, total: MAX_CORRECTIONS });
    const before = this.#context.toContextString();
    const { consecutiveFailures } = this.#context;
    const correction = await this.correct({ plan, step, result, before, consecutiveFailures, refusal });
    // A call that was cut short by a stop returns `abort`, which is not a decision.
    this.signal.throwIfAborted();
    if (correction.action === 'abort') await this.#cancel(correction.why ?? correction.reason);
    else await this.#applyCorrection(step, correction);
  }

  async #applyCorrection(step: PlanStep, correction: Amendment): Promise<void> {
    const edit = amend(this.#run.plan, step, correction, this.#classify);
    if (edit.kind === 'edited') {
      const { action, reason } = correction;
      await this.#record({ type: 'corrected', stepId: step.id, action, reason, plan: edit.plan });
      emitCorrection(this.#run, this.#step(step), correction, this.emit);
      return;
    }
    const cause =
      edit.kind === 'too_many_steps'
        ? textRef('cancelled.no_room', { count: edit.left })
        : textRef('cancelled.no_step', { id: edit.stepId });
    // The second refusal in a row ends the plan.
    if (this.#run.refusal !== undefined) return await this.#cancel(cause);
    await this.#record({ type: 'refused', stepId: step.id, reason: inEnglish.text(cause) });
    this.emit({ type: 'step_changed', step: this.#step(step) });
  }

  /** Ends a plan that no correction may help any more. */
  async #stick(step: PlanStep, cause: TextRef): Promise<void> {
    this.emit({ type: 'agent_stuck', step, ...cancelReason(cause) });
    await this.#cancel(cause);
  }

  /** Ends a plan that is still open; a reason that is a string is the model's. Throws `StoreError`. */
  async #cancel(cause: TextRef | string): Promise<void> {
    if (!this.#isOpen) return;
    const because = cancelReason(cause);
    await this.#record({ type: 'cancelled', ...because });
    this.emit({ type: 'plan_cancelled', ...because, reason: this.#run.plan.reason ?? because.reason });
  }

  /** False when the fact was not recorded, because people have changed the plan in the meantime. */
  async #record(fact: PlanFact): Promise<boolean> {
    const next = applyFact(this.#run, fact);
    if (!(await this.journal(this.#run.facts, fact, next.plan))) return false;
    this.#run = next;
    return true;
  }

  /** The step as it is now. */
  #step(step: PlanStep): PlanStep {
    return this.#run.plan.steps.find(({ id }) => id === step.id) ?? step;
  }
}

/** True at exactly one count, so that the warning comes once (S-34). */
function isWarningDue(remaining: number): boolean {
  const last = MAX_CORRECTIONS * BUDGET_WARNING_SHARE;
  return remaining <= last && remaining + 1 > last;
}

/**
 * The plan after the decision, which is counted and whose reason is noted on the steps it changes. The failed step is
 * pending again, or skipped.
 */
function amend(plan: Plan, step: PlanStep, correction: Amendment, classify: Classify): PlanEdit {
  const revision = boundReason(correction.reason);
  const change = (fields: Partial<PlanStep>): PlanEdit =>
    changeStep(plan, step.id, (current) => ({ ...current, ...fields, corrections: current.corrections + 1 }));
  switch (correction.action) {
    case 'retry':
    case 'modify': {
      const pending = change({ status: 'pending', revision });
      if (pending.kind !== 'edited' || correction.command === undefined) return pending;
      return replaceStepCommand(pending.plan, step.id, correction.command, classify);
    }
    case 'insert_steps': {
      const pending = change({ status: 'pending' });
      if (pending.kind !== 'edited') return pending;
      const newSteps = correction.newSteps.map((proto) => ({ ...proto, revision }));
      return insertStepsBefore(pending.plan, step.id, newSteps, classify);
    }
    case 'skip': {
      const skipped = change({ status: 'skipped', revision });
      if (skipped.kind !== 'edited' || correction.newSteps === undefined) return skipped;
      const instead = correction.newSteps.map((proto) => ({ ...proto, revision }));
      return insertSteps(skipped.plan, step.id, instead, classify);
    }
    default:
      return correction satisfies never;
  }
}

function emitCorrection({ plan, retries }: PlanRun, step: PlanStep, correction: Amendment, emit: Emit): void {
  const { action, reason } = correction;
  let revised = action === 'modify' || action === 'insert_steps';
  if (action === 'retry') {
    const attempt = retries[step.id] ?? 0;
    revised = correction.command !== undefined;
    const newCommand = correction.command && describeCommand(correction.command);
    emit({ type: 'retry_attempt', step, attempt, ...(newCommand !== undefined && { newCommand }) });
  } else if (action === 'skip') revised = correction.newSteps !== undefined;
  if (revised) emit({ type: 'plan_revised', plan, reason });
  if (action === 'skip') emit({ type: 'step_skipped', step });
}
