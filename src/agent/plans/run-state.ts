/** The state of a running plan: a fold over the facts of its journal, the same on every node and after every restart. */
import {
  cancelPlan,
  type Plan,
  type PlanFact,
  type PlanState,
  type PlanStep,
  type StepResult,
} from '../../protocol/agent/plan.ts';
import { inEnglish, type TextRef } from '../../protocol/texts/say.ts';

/** Result of a step, before its run is counted. */
export type StepOutcome = Omit<StepResult, 'attemptIndex'>;

/** A failure that the gateway itself finds: people read it in their language, the model in English. */
export function failedBecause(reason: TextRef): StepOutcome {
  return { content: inEnglish.text(reason), isError: true, why: reason };
}

/** The state of a running plan. Immutable: each fact creates a new one. */
export interface PlanRun {
  readonly plan: Plan;
  /** Index of the step that is next, is running, or has failed. */
  readonly at: number;
  /** Facts so far: the number of the next one. */
  readonly facts: number;
  /** How many of them were changes of people. */
  readonly edits: number;
  /** Runs of steps so far. */
  readonly runs: number;
  /** Number of the current run; undefined between two runs. */
  readonly running?: number | undefined;
  /** Result of the step at `at` when it failed, until a correction is decided. */
  readonly failed?: StepResult | undefined;
  /** Why the last correction could not be applied. */
  readonly refusal?: string | undefined;
  /** Corrections that let a step run again, by its id (S-21). */
  readonly retries: Readonly<Record<string, number>>;
  /** Every ended run, oldest first. */
  readonly results: readonly { step: PlanStep; result: StepResult }[];
}

/** The state after the facts of a journal; undefined when the plan has not begun. */
export function foldFacts(facts: readonly PlanFact[]): PlanRun | undefined {
  const [first, ...rest] = facts;
  if (first?.type !== 'started') return undefined;
  return rest.reduce(applyFact, startRun(first.plan));
}

/** A plan whose first fact is `started`. */
export function startRun(plan: Plan): PlanRun {
  return { plan, at: 0, facts: 1, edits: 0, runs: 0, retries: {}, results: [] };
}

/** The step at `at`; undefined at the end of the plan. */
export function currentStep(run: PlanRun): PlanStep | undefined {
  return run.plan.steps[run.at];
}

/** The state after one more fact. */
export function applyFact(previous: PlanRun, fact: PlanFact): PlanRun {
  const run: PlanRun = { ...previous, facts: previous.facts + 1 };
  switch (fact.type) {
    case 'started':
      return { ...startRun(fact.plan), facts: run.facts };
    case 'step_began': {
      const start = (step: PlanStep): PlanStep => ({
        ...step,
        status: 'running',
        attempts: step.attempts + 1,
      });
      return { ...run, plan: withStep(run.plan, fact.stepId, start), runs: fact.run, running: fact.run };
    }
    case 'step_ended':
      return endStep(run, fact.stepId, fact.result);
    case 'corrected': {
      const retries = { ...run.retries, [fact.stepId]: (run.retries[fact.stepId] ?? 0) + 1 };
      return {
        ...run,
        plan: fact.plan,
        at: fact.action === 'skip' ? run.at + 1 : run.at,
        retries: fact.action === 'skip' ? run.retries : retries,
        failed: undefined,
        refusal: undefined,
      };
    }
    case 'refused': {
      const count = (step: PlanStep): PlanStep => ({ ...step, corrections: step.corrections + 1 });
      return { ...run, plan: withStep(run.plan, fact.stepId, count), refusal: fact.reason };
    }
    case 'step_skipped': {
      const plan = withStep(run.plan, fact.stepId, (step) => ({ ...step, status: 'skipped' }));
      return { ...run, plan, at: run.at + 1, running: undefined, failed: undefined, refusal: undefined };
    }
    case 'edited':
      return { ...run, plan: fact.plan, edits: previous.edits + 1 };
    case 'paused':
      return inState(run, 'paused');
    case 'resumed':
      return inState(run, 'running');
    case 'completed':
      return inState(run, 'completed');
    case 'cancelled':
      return { ...run, plan: cancelPlan(run.plan, fact.reason, fact.why), running: undefined };
    default:
      return fact satisfies never;
  }
}

function endStep(run: PlanRun, stepId: string, result: StepResult): PlanRun {
  const plan = withStep(run.plan, stepId, (step) => ({
    ...step,
    status: result.isError ? 'failed' : 'done',
  }));
  const step = plan.steps.find(({ id }) => id === stepId);
  return {
    ...run,
    plan,
    at: result.isError ? run.at : run.at + 1,
    running: undefined,
    failed: result.isError ? result : undefined,
    results: step === undefined ? run.results : [...run.results, { step, result }],
  };
}

function inState(run: PlanRun, state: PlanState): PlanRun {
  return { ...run, plan: { ...run.plan, state } };
}

function withStep(plan: Plan, stepId: string, change: (step: PlanStep) => PlanStep): Plan {
  return { ...plan, steps: plan.steps.map((step) => (step.id === stepId ? change(step) : step)) };
}
