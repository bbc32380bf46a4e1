/** A plan and its steps, as they are stored and as events and cards show them. */
import { GatewayError } from './errors.ts';
import type { ExecutionMode, Plan } from './isomorphic/plan-types.ts';

// What the page computes with, too, is JavaScript that a browser can load.
export {
  boundReason,
  cancelPlan,
  correctionsLeft,
  isOpenPlan,
  MAX_CORRECTIONS,
  MAX_REASON_CHARS,
  openStep,
} from './isomorphic/plan-reducer.js';
export type {
  ExecutionMode,
  Plan,
  PlanState,
  PlanStep,
  StepExecutor,
  StepStatus,
} from './isomorphic/plan-types.ts';

/** Steps a plan may hold when it is made (N-23). */
export const MAX_PLAN_STEPS = 15;

/** Every mode, in the order lists show them (S-42). */
export const MODES: readonly ExecutionMode[] = ['planner', 'teacher', 'agentic'];

/** The mode a word names. Throws `GatewayError('bad_mode')` with the names there are; an old name is told its new one (S-03). */
export function readMode(word: string): ExecutionMode {
  const mode = MODES.find((one) => one === word.toLowerCase());
  if (mode !== undefined) return mode;
  const hint = word === 'fixer' ? 'That mode is called "planner" now.' : `Modes: ${MODES.join(', ')}.`;
  throw new GatewayError('bad_mode', `There is no mode "${word.slice(0, 80)}". ${hint}`);
}

/** What came of one run of a step. */
export interface StepResult {
  content: string;
  isError: boolean;
  /** Runs of the same step before this one: 0, 1, 2, … (S-38). */
  attemptIndex: number;
}

/** What may be done about a failed step (S-12). */
export type CorrectionAction = 'retry' | 'modify' | 'insert_steps' | 'skip' | 'abort';

/**
 * What happened to a plan while it was carried out, as its turn's journal keeps it. Facts hold what was decided, never
 * what would have to be decided again: read in their order they give the same plan wherever they are read.
 */
export type PlanFact =
  /** The plan as it was when its first step was about to run, with the mode it is carried out in. */
  | { type: 'started'; plan: Plan }
  /** A run of the step began; `run` counts all runs of the plan from 1. */
  | { type: 'step_began'; stepId: string; run: number }
  | { type: 'step_ended'; stepId: string; result: StepResult }
  /** The step failed and this was decided; `plan` is the plan with the change in it. */
  | {
      type: 'corrected';
      stepId: string;
      action: Exclude<CorrectionAction, 'abort'>;
      reason: string;
      plan: Plan;
    }
  /** What was decided cannot be done: there is no room for the steps it adds. */
  | { type: 'refused'; stepId: string; reason: string }
  /** A person left the step out. */
  | { type: 'step_skipped'; stepId: string }
  | { type: 'paused' }
  | { type: 'resumed' }
  | { type: 'completed' }
  | { type: 'cancelled'; reason: string };
