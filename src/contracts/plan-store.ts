/** Plans as the store keeps them: one row each, with the whole plan, replaced when it changes. */
import type { SessionKey } from './message.ts';
import type { Plan } from './plan.ts';
import type { Usage } from './provider.ts';
import type { JournalRow } from './records.ts';
import type { Todo } from './notes.ts';

export interface PlanRecord {
  plan: Plan;
  session: SessionKey;
  turnId: string;
  createdAt: Date;
  updatedAt: Date;
}

/** Requests of users on a running plan; its turn reads them before each step. */
export interface PlanRequest {
  /** Pause before the next step. */
  pause?: boolean | undefined;
  /** Id of a step to skip, unless it has succeeded by then. */
  skip?: string | undefined;
}

/** What a user may do with a running plan. */
export type PlanAction = 'run' | 'skip' | 'pause' | 'resume' | 'stop';

/** Actions of the buttons under a plan's card. */
export type CardAction = Extract<PlanAction, 'pause' | 'skip' | 'stop'>;

/** Content of a card button: an old button must not act on a later plan or step. */
export type PlanButton = { planId: string } & (
  | { action: Exclude<CardAction, 'skip'> }
  | { action: 'skip'; stepId: string }
);

/** The value of a card's button; at most 64 bytes (Telegram's limit) where ids are those of stored plans. */
export function planButtonValue(button: PlanButton): string {
  const value = `plan-${button.action}:${button.planId}`;
  return button.action === 'skip' ? `${value}:${button.stepId}` : value;
}

/** Parses a button's value; undefined for anything but a card's button. */
export function readPlanButton(value: string): PlanButton | undefined {
  const [, action, planId, stepId] =
    /^plan-(pause|skip|stop):([\w-]{1,36})(?::([\w-]{1,36}))?$/.exec(value) ?? [];
  if (planId === undefined) return undefined;
  if (action === 'skip') return stepId === undefined ? undefined : { planId, action, stepId };
  if (stepId !== undefined) return undefined;
  return action === 'pause' || action === 'stop' ? { planId, action } : undefined;
}

/** The delivery ref of a plan's card. */
export function cardRef(planId: string): string {
  return `plan:${planId}`;
}

/** Outcome of an action: whether anything was changed, and a sentence for the user. */
export interface PlanAnswer {
  done: boolean;
  text: string;
}

/** Reads plans and changes the requests on them; plans themselves change with their turn, through the ledger. Throws only `StoreError`. */
export interface PlanStore {
  plan(id: string): Promise<PlanRecord | undefined>;
  /** The newest plan of a session. */
  latestPlan(session: SessionKey): Promise<PlanRecord | undefined>;
  /** The requests on a plan; empty when there are none, or no such plan. */
  planRequests(id: string): Promise<PlanRequest>;
  /** Changes the fields that are given. */
  requestOnPlan(id: string, change: PlanRequest): Promise<void>;
}

/** Result of planning, for `Ledger.storePlan`: a plan with all that belongs to it, or only the usage of the calls. */
export interface PlanningRecord {
  made?:
    | {
        plan: Plan;
        /** The plan as users read it: Markdown, the content of a message row (N-26). */
        card: string;
        /** The todo list from now on (N-27). */
        todos: readonly Todo[];
        /** The plan as the model reads it, after those rows of the turn that are not in the journal yet (N-25). */
        rows: JournalRow[];
      }
    | undefined;
  /** User id the turn answers. */
  userId: string;
  model: string;
  /** Sum of the planning calls. */
  usage: Usage;
}
