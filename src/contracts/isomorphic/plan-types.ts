/** A plan and its steps: the types that the reducer of plans needs, below everything that uses it. */
import type { ToolRisk } from '../risk.ts';

/** Who carries a step out (N-21). */
export type StepExecutor =
  | { kind: 'tool'; tool: string }
  | { kind: 'agent'; profileId: string }
  | { kind: 'self' };

export type StepStatus = 'pending' | 'running' | 'done' | 'failed' | 'skipped';

/** How plans are followed in a session (`/mode`). */
export type ExecutionMode = 'planner' | 'agentic' | 'teacher';

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
