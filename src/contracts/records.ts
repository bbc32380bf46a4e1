/** Rows as the modules see them: what people read, what the model reads, and a turn's state. */
import type { TurnEndReason } from './event.ts';
import type { Address, SentMessage, SessionKey } from './message.ts';
import type { ExecutionMode, Plan, PlanFact } from './plan.ts';
import type { ToolCall, Usage } from './provider.ts';
import type { TextSource } from './risk.ts';
import type { ModelUsage } from './usage.ts';

/** A row of `message`: what people see, never rewritten. `createdAt` is the database's clock. */
export interface MessageRecord {
  seq: number;
  turnId: string;
  role: 'user' | 'assistant' | 'system';
  content: string;
  senderName?: string | undefined;
  isPlan: boolean;
  isError: boolean;
  createdAt: Date;
}

/**
 * A row's content in `context`: what the model sees, and also the journal of a turn. `iteration` 0 holds the user's
 * message; iteration n ≥ 1 the n-th model answer (part 0) and its tool calls' intents and results, by call index.
 */
export type ContextEntry =
  /**
   * `source` is set when the words are not the user's own; `laneSeq` for a message that joined the turn while it ran: its
   * place in the lane.
   */
  | { kind: 'user'; content: string; source?: TextSource | undefined; laneSeq?: number | undefined }
  | {
      kind: 'assistant';
      content: string;
      thinking?: string | undefined;
      toolCalls: ToolCall[];
      msgId: string;
      /** The model that answered. */
      model?: string | undefined;
      usage?: Usage | undefined;
      spent?: SideCost | undefined;
    }
  | { kind: 'tool_intent'; toolCallId: string; toolName: string; callIndex: number }
  | {
      kind: 'tool_result';
      toolCallId: string;
      toolName: string;
      callIndex: number;
      content: string;
      isError: boolean;
      /** Whose words it holds, where they are not the gateway's. */
      source?: TextSource | undefined;
    }
  /** `sources` are those of all rows it covers. */
  | { kind: 'summary'; content: string; sources?: TextSource[] | undefined }
  /** The end of a subagent's own journal: what its turn is told. */
  | { kind: 'agent_result'; content: string; completedNormally: boolean }
  /** A plan, as the model reads it: an assistant message (N-25). */
  | { kind: 'plan'; planId: string; content: string }
  /** What happened to a plan while it was carried out; `part` counts from 0. No model reads it. */
  | {
      kind: 'plan_fact';
      planId: string;
      part: number;
      fact: PlanFact;
      spent?: SideCost | undefined;
    };

/**
 * What was spent, by model, before this row and since the last one that tells of it, on calls that have no row of their
 * own: broken ones, and those beside the conversation.
 */
export type SideCost = readonly ModelUsage[];

/**
 * Rows from this iteration on are the steps of a plan: the n-th run of a step has the iterations from n times this. They
 * are read by their own turn alone, which sums them up for those that come after it.
 */
export const STEP_ITERATIONS = 1_000;

/** A row of the journal before it is stored. */
export interface JournalRow {
  iteration: number;
  entry: ContextEntry;
  tokens: number;
}

/** One row of `context`. `tokens` is the estimate of its size for the model. */
export interface ContextRecord {
  seq: number;
  turnId: string;
  iteration: number;
  entry: ContextEntry;
  tokens: number;
}

/**
 * What becomes of a message that comes while a turn of its session runs: it waits its turn (`queue`), joins the running
 * turn at its next iteration (`steer`), ends the running turn (`interrupt`), or waits a moment for more of its kind, so
 * that a burst becomes one message (`collect`).
 */
export type QueueMode = 'queue' | 'steer' | 'interrupt' | 'collect';

/** A session as lists and channels show it. */
export interface SessionRecord {
  key: SessionKey;
  profileId: string;
  model?: string | undefined;
  mode: ExecutionMode;
  /** What becomes of messages that come while a turn runs. */
  queueMode: QueueMode;
  /** The token that made an `http:` session; others are owned by their chat. */
  ownerTokenId?: string | undefined;
  createdAt: Date;
  updatedAt: Date;
  messageCount: number;
}

/** How a session begins; people change it later (`/mode`, `/queue`). */
export type SessionStart = Pick<SessionRecord, 'mode' | 'queueMode'>;

/** Where the configuration says nothing of it (S-04). */
export const SESSION_START: SessionStart = { mode: 'planner', queueMode: 'queue' };

/** Everything a turn needs to start or to go on, read in one round trip. */
export interface OpenedTurn {
  session: SessionRecord;
  /** Rows this turn has journaled already, oldest first; empty at the first start. */
  journal: ContextRecord[];
  /**
   * The last summary since `/new`, then the rows of earlier turns behind it, at most the asked number of them, oldest
   * first, read by index.
   */
  history: ContextRecord[];
  /** Something is remembered about the user who is answered. */
  remembers: boolean;
  /** Messages already on screen for this turn, by part. */
  placeholders: SentMessage[];
  address: Address;
  /** What the turn has waited for, newest first, at most `MAX_TURN_APPROVALS`; undecided when it woke means denied. */
  approvals: TurnApproval[];
  /** Its planning is over, whether or not a plan came of it: what that cost is written down. */
  planned: boolean;
  /** The turn's own plan, as it stands. */
  plan?: Plan | undefined;
}

/** How a turn ended, for T6. `entries` are context rows not journaled yet. */
export interface TurnFinish {
  turnId: string;
  reason: TurnEndReason;
  /** The text people see; empty means there is no assistant message. */
  content: string;
  isError: boolean;
  /** Who was answered, as a user id. */
  userId: string;
  /** What its answers cost, by model; empty when no model was reached. */
  usage: readonly ModelUsage[];
  entries: JournalRow[];
  /** It may have waited for subagents: their journals end with it. */
  hadAgents?: boolean | undefined;
  /** The delivery to queue; undefined for `http`, where the stored message is the delivery. */
  outbound?: unknown;
  /** Set when the message is given up: the error under which it stays visible as a dead letter, and can be replayed. */
  deadLetter?: string | undefined;
}

export type ApprovalDecision = 'approved' | 'denied';

/** Questions of one turn that are read when it goes on; an older one has been acted on long ago. */
export const MAX_TURN_APPROVALS = 64;

/** The answer to one question of a turn: it is for the call of this key and digest, and for no other. */
export interface TurnApproval {
  id: string;
  callKey: string;
  digest: string;
  decision: ApprovalDecision;
  /** A user id, `expiry` or `stop`. */
  decidedBy: string;
}

/** A row of a finished turn that no summary covers, with its turn's place in the session. */
export interface UnsummarizedRow extends ContextRecord {
  laneSeq: number;
}

/** A summary of the turns `from`…`upTo`, and of all before them; `rows` are the seqs it takes the place of. */
export interface SummaryRange {
  from: number;
  upTo: number;
  rows: readonly number[];
  summary: ContextEntry & { kind: 'summary' };
  tokens: number;
}

/** Throws only `StoreError`. */
export interface ContextStore {
  /**
   * What the next turn of the session would read: the last summary since `/new`, then the newest rows of finished turns
   * behind it, at most `limit`, oldest first. Read by index: the cost does not grow with the session's age.
   */
  unsummarized(session: SessionKey, limit: number): Promise<UnsummarizedRow[]>;
  /**
   * Stores the summary and marks what it covers, in one statement. False, and nothing is changed, when any of the rows
   * is gone, covered already, or of a turn that is not finished.
   */
  summarize(session: SessionKey, range: SummaryRange): Promise<boolean>;
}
