/** A plan and its steps, as they are stored and as events and cards show them. */
import { GatewayError } from './errors.ts';
import type { ToolRisk } from './risk.ts';

// What the page computes with, too, is JavaScript that a browser can load.
export {
  boundReason,
  cancelPlan,
  correctionsLeft,
  isOpenPlan,
  isSettledStep,
  MAX_CORRECTIONS,
  MAX_REASON_CHARS,
  openStep,
} from './isomorphic/plan-reducer.js';

/** Steps a plan may hold when it is made (N-23). */
export const MAX_PLAN_STEPS = 15;

/** Who carries a step out (N-21). */
export type StepExecutor =
  | { kind: 'tool'; tool: string }
  | { kind: 'agent'; profileId: string }
  | { kind: 'self' };

export type StepStatus = 'pending' | 'running' | 'done' | 'failed' | 'skipped';

/** How plans are followed in a session (`/mode`). */
export type ExecutionMode = 'planner' | 'agentic' | 'teacher';

/** Every mode, in the order lists show them (S-42). */
export const MODES: readonly ExecutionMode[] = ['planner', 'teacher', 'agentic'];

/** The mode a word names. Throws `GatewayError('bad_mode')` with the names there are; an old name is told its new one (S-03). */
export function readMode(word: string): ExecutionMode {
  const mode = MODES.find((one) => one === word.toLowerCase());
  if (mode !== undefined) return mode;
  const hint = word === 'fixer' ? 'That mode is called "planner" now.' : `Modes: ${MODES.join(', ')}.`;
  throw new GatewayError('bad_mode', `There is no mode "${word.slice(0, 80)}". ${hint}`);
}

/** What the desktop program calls a step's command is its executor and `args` together. */
export interface PlanStep {
  id: string;
  /** Place in the plan, from 0. */
  index: number;
  description: string;
  executor: StepExecutor;
  /** Arguments of a `tool` step, once they are known. */
  args?: Record<string, unknown> | undefined;
  /** Judged anew whenever the executor or the arguments change. */
  risk: ToolRisk;
  status: StepStatus;
  /** How it was checked that the step is done (N-38). */
  validation?: string | undefined;
  /** Times it was run. */
  attempts: number;
  /** Corrections decided about it, those included that could not be done (S-21, S-22). */
  corrections: number;
  /** Why the last correction put it in, changed it, tried it again or left it out; at most `MAX_REASON_CHARS`. */
  revision?: string | undefined;
}

export type PlanState = 'running' | 'paused' | 'completed' | 'cancelled';

export interface Plan {
  id: string;
  goal: string;
  milestones: string[];
  steps: PlanStep[];
  mode: ExecutionMode;
  state: PlanState;
  /** Steps it was made with: what was added later counts against this (S-18). */
  originalLength: number;
  /** Why it was cancelled; at most `MAX_REASON_CHARS`. */
  reason?: string | undefined;
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
