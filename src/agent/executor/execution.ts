/** The dependencies of the plan executor, and the state of one plan with the way to change it. */
import type { Emit } from '../deps.ts';
import type { Plan, PlanFact, PlanStep } from '../../contracts/plan.ts';
import type { AgentCorrection } from './correction-reply.ts';
import type { Failure } from './correction.ts';
import type { Classify } from './edits.ts';
import type { RollingContext } from './rolling-context.ts';
import { applyFact } from './run-state.ts';
import type { PlanRun } from './run-state.ts';

/** Result of a step, before its run is counted. */
export interface StepOutcome {
  content: string;
  isError: boolean;
}

/** May the next step run? */
export type GateVerdict =
  | { kind: 'go' }
  /** A person leaves the step out. */
  | { kind: 'skip' }
  /** A person wants to go on later. */
  | { kind: 'pause' }
  | { kind: 'cancel'; reason: string };

/** Dependencies of the executor. */
export interface ExecutorDeps {
  /** Commits fact number `n` and the plan as it is after it; a number that is there already stays. Throws `StoreError`. */
  journal(n: number, fact: PlanFact, plan: Plan): Promise<void>;
  /** Carries a step out; `run` names this run of it for its own journal. What it throws as a plain `GatewayError` is a failed step. */
  runStep(step: PlanStep, run: number, state: PlanRun): Promise<StepOutcome>;
  /** The correction call; never throws (S-11). */
  correct(failure: Failure): Promise<AgentCorrection>;
  classify: Classify;
  /** Earlier steps, for the correction call. */
  context: RollingContext;
  /** Asked before each step, and before each correction. May end the turn by throwing (it waits for a human). */
  gate(step: PlanStep, state: PlanRun): Promise<GateVerdict>;
  /** Waits for the plan to be resumed, by ending the turn. */
  park(step: PlanStep, state: PlanRun): Promise<void>;
  signal: AbortSignal;
  emit: Emit;
}

/** The state of one plan while it is carried out. A change is a committed fact first, and an event then. */
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

  async note(fact: PlanFact): Promise<void> {
    const next = applyFact(this.#run, fact);
    await this.deps.journal(this.#run.facts, fact, next.plan);
    this.#run = next;
  }

  /** The step of that id as it is now. */
  step(id: string): PlanStep | undefined {
    return this.#run.plan.steps.find((step) => step.id === id);
  }

  /** Shows the step of that id as it is now. */
  emitStep(id: string): void {
    const step = this.step(id);
    if (step !== undefined) this.emit({ type: 'step_changed', step });
  }

  /** Ends a plan that is still open. Throws `StoreError`. */
  async cancel(reason: string): Promise<void> {
    if (!this.open) return;
    await this.note({ type: 'cancelled', reason });
    this.emit({ type: 'plan_cancelled', reason: this.#run.plan.reason ?? reason });
  }
}
