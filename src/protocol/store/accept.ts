/** The acceptance of a message into the lane of its session: the request and its result. */
import type { Address, InboundMessage, SessionKey } from '../message.ts';
import type { CallerOptions } from '../agent/provider.ts';
import type { ExecutionMode } from '../agent/plan.ts';
import type { ContextEntry, ContextRecord, SessionChoice, RetryRefusal } from './records.ts';
import type { LaneStep } from './lanes.ts';
import type { PersonQuestion } from '../agent/approvals.ts';
import type { PlanToRun } from '../agent/plan-store.ts';

/** Context rows of earlier turns that a turn reads (B-35). */
export const HISTORY_ROWS = 50;

export type AcceptResult =
  | ({
      kind: 'accepted';
      session: SessionKey;
      turnId: string;
      laneSeq: number;
      seq: number;
      position: number;
      /** The running turn should end for this message: the node that runs it should be notified at once. */
      interrupts: boolean;
      /** For a question asked again: the tools that its earlier answers called. */
      effects?: readonly string[] | undefined;
    } & LaneStep)
  | { kind: 'not_retried'; reason: RetryRefusal }
  /** `differs`: the message stored under this id has a different text. */
  | { kind: 'duplicate'; session: SessionKey; turnId: string; laneSeq: number; seq: number; differs: boolean }
  | { kind: 'full'; limit: number }
  | { kind: 'foreign' }
  /** The session waits for the results of its caller's tools. */
  | { kind: 'tools_pending'; toolCallIds: string[] };

/** A message to accept: what its turn will read, and how it is accepted. */
export interface AcceptRequest extends Omit<TurnPayload, 'turnId' | 'edited'> {
  /** Settings of the session, when this is its first message. */
  begins?: SessionChoice | undefined;
  /** Refuse the message while the session waits for its caller's tools. */
  unlessToolsPending?: boolean | undefined;
  /** The token that owns the `http:` session this message creates; a session of another token refuses the message. */
  ownerTokenId?: string | undefined;
  /** The token may also write to sessions of other tokens (scope `admin`). */
  anyOwner?: boolean | undefined;
  /** Asks the question of this turn again instead: only `id`, sender, address and placeholder of the message count. */
  retryOf?: string | undefined;
  /** The content of the message replaces that question's, as another version of it. */
  reworded?: boolean | undefined;
  /** Claim the lane for this node when it is free; undefined = leave it to the sweep. */
  node?: string | undefined;
  /** Also read what the turn needs if that node can start it at once, with at most this many rows of earlier turns. */
  historyRows?: number | undefined;
}

/** What an `in:` message contains. */
export interface TurnPayload {
  turnId: string;
  address: Address;
  message: InboundMessage;
  /** `run` answers without planning (cron, `stream:false`), `runStream` may plan first, `plan` makes a plan and runs nothing. */
  entry: 'runStream' | 'run' | 'plan';
  /** An answer that is only this is neither delivered nor shown. */
  silentToken?: string | undefined;
  /** Overrides for this turn only; `usualModel` yields to a model that the session names. */
  model?: string | undefined;
  profileId?: string | undefined;
  usualModel?: string | undefined;
  mode?: ExecutionMode | undefined;
  plan?: PlanToRun | undefined;
  options?: CallerOptions | undefined;
  /** The turn asks this person and ends with their answer; no model is called. */
  question?: PersonQuestion | undefined;
  /** How often its text was changed while it waited. */
  edited?: number | undefined;
  /** For the prompt: permissions are looked up when they are used. */
  isOwner?: boolean | undefined;
}

/** A row of a finished turn without a summary, with its turn's place in the session. */
export interface UnsummarizedRow extends ContextRecord {
  laneSeq: number;
}

/** A summary of the turns `from`…`upTo`, and of all before them; `rows` are the seqs it replaces. */
export interface SummaryRange {
  from: number;
  upTo: number;
  rows: readonly number[];
  summary: ContextEntry & { kind: 'summary' };
  tokens: number;
}

/** Where `/new` began a new conversation: the model no longer reads what was accepted up to then. */
export interface ContextReset {
  /** The number of the last message before it. A turn that it stopped may store its answer later. */
  after: number;
  at: Date;
}

/** How much of a model's context window the last answer took up, with its prompt, in tokens. */
export interface ContextUse {
  tokens: number;
  window: number;
}

/** Throws only `StoreError`. */
export interface ContextStore {
  /** How full the context was at the last answer since `/new`; undefined without one, or while it is not known. */
  use(session: SessionKey): Promise<ContextUse | undefined>;
  /** Those behind the messages `from`…`before` - 1 of a session, oldest first; without `before`, to the end. */
  resets(session: SessionKey, span: { from: number; before?: number | undefined }): Promise<ContextReset[]>;
  /**
   * What the next turn would read: the last summary since `/new`, then the newest rows of finished turns, at most `limit`,
   * oldest first. Read by index, whatever the session's age.
   */
  unsummarized(session: SessionKey, limit: number): Promise<UnsummarizedRow[]>;
  /**
   * Stores the summary and marks the rows it replaces, in one statement. False, without a change, if one of them is
   * deleted, already summarized, or of an unfinished turn.
   */
  summarize(session: SessionKey, range: SummaryRange): Promise<boolean>;
}
