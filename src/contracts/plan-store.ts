/** Plans as the store keeps them: one row each, the whole plan in it, replaced as it changes. */
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

/** What people want of a plan while it is carried out; its turn looks before each step. */
export interface PlanRequest {
  /** To stop before the next step, until they say otherwise. */
  pause?: boolean | undefined;
  /** To leave this step out, if it has not worked by then. */
  skip?: string | undefined;
}

/** What a person may do to a plan that is being carried out. */
export type PlanAction = 'run' | 'skip' | 'pause' | 'resume' | 'stop';

/** What a button under a plan's card does. */
export type CardAction = Extract<PlanAction, 'pause' | 'skip' | 'stop'>;

/** What the button of a card names: an old one must not mean a later plan, or a later step. */
export type PlanButton = { planId: string } & (
  | { action: Exclude<CardAction, 'skip'> }
  | { action: 'skip'; stepId: string }
);

/** The value of a card's button; at most 64 bytes (Telegram's limit) where ids are those of plans that are carried out. */
export function planButtonValue(button: PlanButton): string {
  const value = `plan-${button.action}:${button.planId}`;
  return button.action === 'skip' ? `${value}:${button.stepId}` : value;
}

/** What a button's value names; undefined for anything but a card's button. */
export function readPlanButton(value: string): PlanButton | undefined {
  const [, action, planId, stepId] =
    /^plan-(pause|skip|stop):([\w-]{1,36})(?::([\w-]{1,36}))?$/.exec(value) ?? [];
  if (planId === undefined) return undefined;
  if (action === 'skip') return stepId === undefined ? undefined : { planId, action, stepId };
  if (stepId !== undefined) return undefined;
  return action === 'pause' || action === 'stop' ? { planId, action } : undefined;
}

/** Where the message of a plan's card stands among the deliveries. */
export function cardRef(planId: string): string {
  return `plan:${planId}`;
}

/** What came of it: whether anything was changed, and a sentence for the person. */
export interface PlanAnswer {
  done: boolean;
  text: string;
}

/** Throws only `StoreError`. Writing belongs to the ledger, where a plan changes with its turn; wishes are anybody's. */
export interface PlanStore {
  plan(id: string): Promise<PlanRecord | undefined>;
  /** The newest plan of a session. */
  latestPlan(session: SessionKey): Promise<PlanRecord | undefined>;
  /** What is wished of a plan; empty when nothing is, or there is no such plan. */
  planRequests(id: string): Promise<PlanRequest>;
  /** Changes the fields that are given. */
  requestOnPlan(id: string, change: PlanRequest): Promise<void>;
}

/** What planning gave, for `Ledger.storePlan`: a plan with all that belongs to it, or only what the calls cost. */
export interface PlanningRecord {
  made?:
    | {
        plan: Plan;
        /** The plan as people read it: Markdown, the content of a message row (N-26). */
        card: string;
        /** The todo list from now on (N-27). */
        todos: readonly Todo[];
        /** The plan as the model reads it, and before it what of the turn is not in the journal yet (N-25). */
        rows: JournalRow[];
      }
    | undefined;
  /** Whom the turn answers. */
  userId: string;
  model: string;
  /** Of the planning calls together. */
  usage: Usage;
}
