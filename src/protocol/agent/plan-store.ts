/** Plans as the store keeps them: one row each, with the whole plan, replaced when it changes. */
import { type Address, type DeliveryPayload, parseAddress, type SessionKey } from '../message.ts';
import type { Settlement } from './usage.ts';
import type { Plan } from './plan.ts';
import type { PendingEdit } from './plan-edits.ts';
import type { Usage } from './provider.ts';
import type { JournalRow } from '../store/records.ts';
import type { Todo } from '../store/notes.ts';

export interface PlanRecord {
  /** Including people's changes that its turn has not applied yet. */
  plan: Plan;
  session: SessionKey;
  turnId: string;
  /** The chat in which it was made; undefined once its turn is deleted. */
  address?: Address | undefined;
  /** People's changes that its turn has not applied yet. */
  pendingEdits: number;
  /** Changes with each change of the row: `changePlan` needs it. */
  etag: string;
  createdAt: Date;
  updatedAt: Date;
}

/** A plan with its number among those of its session, which it keeps: 1 is the oldest. */
export interface NumberedPlan {
  record: PlanRecord;
  number: number;
}

/** Requests from users about a running plan; its turn reads them before each step. */
export interface PlanRequest {
  pause?: boolean | undefined;
  /** Id of a step to skip unless it has already succeeded. */
  skip?: string | undefined;
  edits?: readonly PendingEdit[] | undefined;
}

/** Changes of a running plan that may wait for its next step. */
export const MAX_PENDING_EDITS = 20;

/** Most runs of one plan. */
export const MAX_PLAN_RUNS = 999;

/** The id of a run: the same each time, so that no run is started twice. */
export function runIdOf(planId: string, run: number): string {
  return `${planId}-r${run}`;
}

/** A run of a stored plan, as contained in the message that starts it. */
export interface PlanToRun {
  id: string;
  /** The version that was shown to the person who started it. */
  version: number;
  /** From 1. */
  run: number;
}

/** What a user may do with a running plan. */
export type PlanAction = 'run' | 'skip' | 'pause' | 'resume' | 'stop';

/** Actions of the buttons under a plan's card. */
export type CardAction = Extract<PlanAction, 'pause' | 'skip' | 'stop'>;

/** Buttons of a stored plan's card: run it, run it step by step, explain how to change it, cancel it. */
export type StoredAction = 'start' | 'teach' | 'edit' | 'cancel';

/** Content of a card button: an old button must not act on a later plan, step, version or run. */
export type PlanButton = { planId: string } & (
  | { action: Exclude<CardAction, 'skip'> }
  | { action: 'skip'; stepId: string }
  | { action: StoredAction; version: number; run: number }
);

/** The value of a card's button; at most 64 bytes (Telegram's limit) for ids of stored plans. */
export function planButtonValue(button: PlanButton): string {
  const value = `plan-${button.action}:${button.planId}`;
  if ('version' in button) return `${value}:${button.version}.${button.run}`;
  return button.action === 'skip' ? `${value}:${button.stepId}` : value;
}

/** Parses a button's value; undefined for anything but a card's button. */
export function readPlanButton(value: string): PlanButton | undefined {
  const [, keptAction, keptId, version, run] =
    /^plan-(start|teach|edit|cancel):([\w-]{1,41}):([1-9]\d{0,5})\.([1-9]\d{0,5})$/.exec(value) ?? [];
  if (keptId !== undefined) {
    const action = STORED_ACTIONS.find((one) => one === keptAction);
    return action && { planId: keptId, action, version: Number(version), run: Number(run) };
  }
  const [, action, planId, stepId] =
    /^plan-(pause|skip|stop):([\w-]{1,41})(?::([\w-]{1,36}))?$/.exec(value) ?? [];
  if (planId === undefined) return undefined;
  if (action === 'skip') return stepId === undefined ? undefined : { planId, action, stepId };
  if (stepId !== undefined) return undefined;
  return action === 'pause' || action === 'stop' ? { planId, action } : undefined;
}

const STORED_ACTIONS: readonly StoredAction[] = ['start', 'teach', 'edit', 'cancel'];

/** The delivery ref of a plan's card. */
export function cardRef(planId: string): string {
  return `plan:${planId}`;
}

/** The delivery that updates the card of a plan, once for each version and number of runs. */
export function cardDelivery(plan: Plan, address: Address, runs = plan.runs ?? 0): DeliveryPayload {
  const ref = cardRef(plan.id);
  const key = `${ref}:${plan.version ?? 1}.${runs}.${plan.state}`;
  return {
    ref,
    key,
    planId: plan.id,
    message: { ...parseAddress(address), content: '', media: [], buttons: [] },
  };
}

/** The delivery ref of the message that explains how to change a plan. */
export function editHelpRef(planId: string): string {
  return `plan-edit:${planId}`;
}

/** Outcome of an action: whether anything was changed, and a sentence for the user. */
export interface PlanAnswer {
  done: boolean;
  text: string;
}

/** Reads plans and changes requests about them; a turn changes its plan through the ledger. Throws only `StoreError`. */
export interface PlanStore {
  plan(id: string): Promise<PlanRecord | undefined>;
  latestPlan(session: SessionKey): Promise<PlanRecord | undefined>;
  /** The plans of a session that are not runs of others, newest first. */
  plans(session: SessionKey, limit: number): Promise<NumberedPlan[]>;
  planNumber(session: SessionKey, number: number): Promise<PlanRecord | undefined>;
  /**
   * Replaces a plan, or adds a change for the turn that runs it; false if the row was changed since it was read.
   * Changes that the turn has applied are discarded.
   */
  changePlan(before: PlanRecord, change: { plan: Plan } | { edit: PendingEdit }): Promise<boolean>;
  /** The requests about a plan; empty when there are none, or no such plan. */
  planRequests(id: string): Promise<PlanRequest>;
  /** Changes the fields that are given. */
  requestOnPlan(id: string, change: PlanRequest): Promise<void>;
}

/** What planning gave, for `Ledger.storePlan`: a plan and what belongs to it, or only the usage of the calls. */
export interface PlanningRecord {
  made?:
    | {
        plan: Plan;
        /** The plan as users read it: Markdown, the content of a message row (N-26). */
        card: string;
        /** The todo list from now on (N-27); undefined for a plan that is only stored. */
        todos?: readonly Todo[] | undefined;
        /** The plan as the model reads it, after those rows of the turn that are not yet in the journal (N-25). */
        rows: JournalRow[];
      }
    | undefined;
  userId: string;
  model: string;
  usage: Usage;
  /** As that of a `UsageNote`. */
  settles?: Settlement | undefined;
}
