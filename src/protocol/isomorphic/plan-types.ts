/** A plan and its steps: the types that the plan reducer needs, below everything that uses it. */
import type { Source, ToolRisk } from '../agent/risk.ts';
import type { TextRef } from '../texts/say.ts';

/** Executor of a step (N-21). */
export type StepExecutor =
  | { kind: 'tool'; tool: string }
  | { kind: 'agent'; profileId: string }
  | { kind: 'self' };

export type StepStatus = 'pending' | 'running' | 'done' | 'failed' | 'skipped';

/** How plans are followed in a session (`/mode`). */
export type ExecutionMode = 'planner' | 'agentic' | 'teacher';

/** The executor and `args` together are the step's command. */
export interface PlanStep {
  id: string;
  /** Place in the plan, from 0. */
  index: number;
  description: string;
  executor: StepExecutor;
  /** Arguments of a `tool` step, once they are known. */
  args?: Record<string, unknown> | undefined;
  /** Assessed again whenever the executor or the arguments change. */
  risk: ToolRisk;
  status: StepStatus;
  /** How it was checked that the step is done (N-38). */
  validation?: string | undefined;
  attempts: number;
  /** Corrections of it, including impossible ones (S-21, S-22). */
  corrections: number;
  /** Reason of the last correction that added, changed, retried or skipped it; at most `MAX_REASON_CHARS`. */
  revision?: string | undefined;
}

/**
 * `stored`: made with `/plan` and stored, to be changed and run; each of its runs is a separate plan. `ignored`: its turn
 * answered without beginning a step of it.
 */
export type PlanState = 'stored' | 'running' | 'paused' | 'completed' | 'cancelled' | 'ignored';

export interface Plan {
  id: string;
  goal: string;
  milestones: string[];
  steps: PlanStep[];
  mode: ExecutionMode;
  state: PlanState;
  /** Number of steps it was created with; the limit on added steps depends on it (S-18). */
  originalLength: number;
  /** Why it was cancelled, as the model and programs read it: in English, or as the model wrote it; at most `MAX_REASON_CHARS`. */
  reason?: string | undefined;
  /** The same for people, in their language; absent if it is in no table of texts. */
  why?: TextRef | undefined;
  /** Rises with each change that a person makes; a plan without it has version 1. */
  version?: number | undefined;
  /** Runs of it that have started, each under its own id. */
  runs?: number | undefined;
  /** Of a run: the plan that is run, and which run of it this is, from 1. */
  origin?: { planId: string; run: number } | undefined;
  language?: string | undefined;
  /** Sources of the text that it was made from: every run of it counts as having read them. */
  sources?: readonly Source[] | undefined;
}

/** One change that a person makes to a plan; steps are named by their ids. */
export type StepEdit =
  | { op: 'drop'; step: string }
  | { op: 'reword'; step: string; description: string }
  | { op: 'move'; step: string; before: string }
  | { op: 'move'; step: string; after: string }
  /** Neither `before` nor `after`: at the end. The agent itself executes an added step. */
  | { op: 'add'; description: string; before?: string | undefined; after?: string | undefined };
