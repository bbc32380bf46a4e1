/** Plans and their steps, as they are stored and as events and cards show them. */
import { GatewayError } from '../errors.ts';
import { inEnglish, textRef, type TextRef } from '../texts/say.ts';
import type { ExecutionMode, Plan } from '../isomorphic/plan-types.ts';

// Code that the web page also runs is JavaScript that browsers can load.
export {
  boundReason,
  cancelPlan,
  correctionsLeft,
  endedEarly,
  isOpenPlan,
  MAX_CORRECTIONS,
  openStep,
} from '../isomorphic/plan-reducer.js';
export type {
  ExecutionMode,
  Plan,
  PlanState,
  PlanStep,
  StepEdit,
  StepExecutor,
  StepStatus,
} from '../isomorphic/plan-types.ts';

/** Most steps of a new plan (N-23). */
export const MAX_PLAN_STEPS = 15;

/** Longest goal that the model sets for a plan, in UTF-16 units. */
export const MAX_GOAL_CHARS = 1_000;

/** Every mode, in the order lists show them (S-42). */
export const MODES: readonly ExecutionMode[] = ['planner', 'teacher', 'agentic'];

/** Parses the name of a mode. Throws `GatewayError('bad_mode')` that lists the names; for an old name, its new one (S-03). */
export function readMode(name: string): ExecutionMode {
  const mode = MODES.find((one) => one === name.toLowerCase());
  if (mode !== undefined) return mode;
  const text = name.slice(0, 80);
  throw new GatewayError(
    'bad_mode',
    name === 'fixer'
      ? textRef('mode.renamed', { name: text })
      : textRef('mode.unknown', { name: text, modes: MODES.join(', ') }),
  );
}

/** Result of one run of a step. */
export interface StepResult {
  content: string;
  isError: boolean;
  /** Why it failed, as worded for people, if the gateway itself says so. */
  why?: TextRef | undefined;
  /** Runs of the same step before this one: 0, 1, 2, … (S-38). */
  attemptIndex: number;
}

/** Possible corrections of a failed step (S-12). */
export type CorrectionAction = 'retry' | 'modify' | 'insert_steps' | 'skip' | 'abort';

/**
 * What happened to a running plan, as its turn's journal stores it. Facts contain decisions: applied in order, they
 * yield the same plan wherever they are read.
 */
export type PlanFact =
  /** The plan before its first step, with the mode it runs in. */
  | { type: 'started'; plan: Plan }
  /** A run of the step started; `run` counts all runs of the plan from 1. */
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
  /** The correction is impossible: the plan has no room for the steps it adds. */
  | { type: 'refused'; stepId: string; reason: string }
  | { type: 'step_skipped'; stepId: string }
  /** People have changed steps that had not started; `plan` is the plan with the changes in it. */
  | { type: 'edited'; plan: Plan }
  | { type: 'paused' }
  | { type: 'resumed' }
  | { type: 'completed' }
  | ({ type: 'cancelled' } & CancelReason);

/** Why a plan was cancelled: for the model and programs, and as worded for people. */
export interface CancelReason {
  reason: string;
  why?: TextRef;
}

/** The reason in both forms; a string is what the model or a tool wrote. */
export function cancelReason(cause: TextRef | string): CancelReason {
  return typeof cause === 'string' ? { reason: cause } : { reason: inEnglish.text(cause), why: cause };
}
