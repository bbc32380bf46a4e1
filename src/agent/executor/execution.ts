/** The dependencies of the plan executor, and the state of one plan with the way to change it. */
import type { Emit } from '../deps.ts';
import {
  cancelReason,
  type Plan,
  type PlanFact,
  type PlanStep,
  type StepResult,
} from '../../protocol/agent/plan.ts';
import { inEnglish, type TextRef } from '../../protocol/texts/say.ts';
import type { AgentCorrection } from './correction-reply.ts';
import type { Failure } from './correction.ts';
import type { Classify } from './edits.ts';
import type { RollingContext } from './rolling-context.ts';
import { applyFact, type PlanRun } from './run-state.ts';

/** Result of a step, before its run is counted. */
export type StepOutcome = Omit<StepResult, 'attemptIndex'>;

/** A failure that the gateway itself finds: people read it in their language, the model in English. */
export function failedBecause(why: TextRef): StepOutcome {
  return { content: inEnglish.text(why), isError: true, why };
}

/** Whether the next step may run. */
export type GateVerdict =
  | { kind: 'go' }
  /** A person skips the step. */
  | { kind: 'skip' }
  /** A person pauses the plan. */
  | { kind: 'pause' }
  /** People have changed steps that had not begun; `plan` is the plan with the changes in it. */
  | { kind: 'edit'; plan: Plan }
  | { kind: 'cancel'; why: TextRef };

/** Dependencies of the executor. */
export interface ExecutorDeps {
  /**
   * Commits fact number `n` and the plan after it; a fact that is already stored is kept. False, without a commit, when
   * a step would begin that people have changed in the meantime. Throws `StoreError`.
   */
  journal(n: number, fact: PlanFact, plan: Plan): Promise<boolean>;
  /** Runs a step; `run` is the number of the run, for its own journal. A plain `GatewayError` means that the step failed. */
  runStep(step: PlanStep, run: number, state: PlanRun): Promise<StepOutcome>;
  /** The correction call; never throws (S-11). */
  correct(failure: Failure): Promise<AgentCorrection>;
  classify: Classify;
  /** Earlier steps, for the correction call. */
  context: RollingContext;
  /** Called before each step and each correction. May end the turn by throwing, to wait for a human. */
  gate(step: PlanStep, state: PlanRun): Promise<GateVerdict>;
  /** Ends the turn until the plan is resumed. */
  park(step: PlanStep, state: PlanRun): Promise<void>;
  signal: AbortSignal;
  emit: Emit;
}

/** The state of one running plan. Each change is committed as a fact before its event is emitted. */
export class Execution {
  readonly deps: ExecutorDeps;
  #run: PlanRun;

  constructor(deps: ExecutorDeps, run: PlanRun) {
    this.deps = deps;
    this.#run = run;
  }

  get run(): PlanRun {
    return this.#run;
  }

  get emit(): Emit {
    return this.deps.emit;
  }

  get open(): boolean {
    return this.#run.plan.state === 'running' || this.#run.plan.state === 'paused';
  }

  /** False when the fact was not recorded, because people have changed the plan in the meantime. */
  async record(fact: PlanFact): Promise<boolean> {
    const next = applyFact(this.#run, fact);
    if (!(await this.deps.journal(this.#run.facts, fact, next.plan))) return false;
    this.#run = next;
    return true;
  }

  /** The step with that id as it is now. */
  step(id: string): PlanStep | undefined {
    return this.#run.plan.steps.find((step) => step.id === id);
  }

  /** Emits the step with that id as it is now. */
  emitStep(id: string): void {
    const step = this.step(id);
    if (step !== undefined) this.emit({ type: 'step_changed', step });
  }

  /** Ends a plan that is still open; a reason that is a string is the model's. Throws `StoreError`. */
  async cancel(why: TextRef | string): Promise<void> {
    if (!this.open) return;
    const because = cancelReason(why);
    await this.record({ type: 'cancelled', ...because });
    this.emit({ type: 'plan_cancelled', ...because, reason: this.#run.plan.reason ?? because.reason });
  }
}
