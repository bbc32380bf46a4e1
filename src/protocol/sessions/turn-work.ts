/** The work of turns (thinking, tool calls, subagents, approvals), from their journals, as the events that showed it. */
import type { EventBody } from '../event.ts';
import type { PlanFact } from '../agent/plan.ts';
import type { ApprovalDecision, ContextRecord, MessageRecord } from '../store/records.ts';

/** Most rows of journals that one page of work is made of; the newest come first. */
export const MAX_WORK_ROWS = 2_000;
/** Most tokens of these rows together, as estimated: about 1.5 MB of text. */
export const MAX_WORK_TOKENS = 400_000;
/** Longest text of a result or of thinking in a page of work, in UTF-16 units; the middle of a longer one is left out. */
export const MAX_WORK_TEXT = 20_000;

/** Most plan facts that one page of work uses. */
export const MAX_WORK_FACTS = 500;

/** An event of a turn's work. It has no number and no time: the journal keeps only what happened, in order. */
export type WorkEvent = EventBody & { agentId?: string; isSubagent?: true };

/** The work of one turn, oldest first. `complete` is false when only its newest part fits in the page. */
export interface TurnWork {
  turnId: string;
  events: WorkEvent[];
  complete: boolean;
}

/** An approval of a turn, as its journal needs it. */
export interface WorkApproval {
  id: string;
  turnId: string;
  toolCallId: string;
  /** Set when a subagent asked. */
  agentId: string | null;
  warning: string;
  state: 'pending' | ApprovalDecision;
  decidedBy: string | null;
  decidedName: string | null;
  decidedAt: string | null;
  reason: string | null;
}

/** A fact of a turn's plan. */
export interface WorkFact {
  turnId: string;
  fact: PlanFact;
}

/** The rows of journals, oldest first. */
export interface JournalPage {
  rows: ContextRecord[];
  approvals: WorkApproval[];
  /** Facts that say which step of a plan was running, oldest first. */
  facts: WorkFact[];
  /** Journals that have older rows than those included. */
  cut: ReadonlySet<string>;
}

/** Reads journals. Throws only `StoreError`. */
export interface WorkStore {
  /** The newest rows of these journals (turns or subagents) within `MAX_WORK_ROWS` and `MAX_WORK_TOKENS`, by index. */
  journals(ids: readonly string[]): Promise<JournalPage>;
}

/** A page of messages with the work of their turns. */
export interface MessagesWithWork {
  messages: MessageRecord[];
  work: TurnWork[];
}
