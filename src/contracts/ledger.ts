/** Every transaction in the life of a message, one function each (T1-T7), and the reads that channels need. */
import type { Address, DeliveryPayload, InboundMessage, SentMessage, SessionKey } from './message.ts';
import type { Fence, LaneStep } from './lanes.ts';
import type { ExecutionMode, Plan } from './plan.ts';
import type { PlanningRecord } from './plan-store.ts';
import type { Usage } from './provider.ts';
import type {
  ContextEntry,
  JournalRow,
  MessageRecord,
  OpenedTurn,
  QueueMode,
  SessionRecord,
  SessionStart,
  TurnFinish,
} from './records.ts';
import type { Todo } from './notes.ts';
import type { UsageNote } from './usage.ts';

export type { DeliveryPayload } from './message.ts';

/** Pending messages a session may hold (DESIGN §8). */
export const MAX_PENDING = 200;

export type AcceptResult =
  | ({
      kind: 'accepted';
      session: SessionKey;
      turnId: string;
      laneSeq: number;
      seq: number;
      position: number;
      /** What runs is to end for this message: its owner should look at once. */
      interrupts: boolean;
    } & LaneStep)
  | { kind: 'duplicate'; session: SessionKey; turnId: string; laneSeq: number; seq: number }
  | { kind: 'full'; limit: number }
  /** The session belongs to another token. */
  | { kind: 'foreign' };

/** How a head's lane looks from the head. `messages` are as they were accepted. */
export interface WaitingBehind {
  mode: QueueMode;
  /** Since the newest message of the lane came, and since the head's turn could have begun, in milliseconds. */
  quietMs: number;
  waitedMs: number;
  messages: { seq: number; payload: unknown }[];
}

/** What an `in:` message carries. */
export interface TurnPayload {
  turnId: string;
  address: Address;
  message: InboundMessage;
  /** How the channel wants the turn run: `run` without planning (cron, `stream:false`), else `runStream`. */
  entry: 'runStream' | 'run';
  /** An answer that is only this is neither delivered nor shown. */
  silentToken?: string | undefined;
  /** Overrides for this turn only. */
  model?: string | undefined;
  profileId?: string | undefined;
  mode?: ExecutionMode | undefined;
}

export interface AcceptRequest {
  message: InboundMessage;
  address: Address;
  entry: TurnPayload['entry'];
  silentToken?: string | undefined;
  model?: string | undefined;
  profileId?: string | undefined;
  mode?: ExecutionMode | undefined;
  /** The token that makes an `http:` session its own; another token's session takes nothing from it. */
  ownerTokenId?: string | undefined;
  /** The token may write to other tokens' sessions, too (scope `admin`). */
  anyOwner?: boolean | undefined;
  /** Claim the lane for this node when it is free; undefined = leave it to the sweep. */
  node?: string | undefined;
}

/**
 * The ledger. Throws only `StoreError`; connection losses and serialisation failures are retried inside for up to 30 s,
 * and each function is safe to repeat: a commit whose answer was lost is recognised, not done twice. Nothing here is
 * held open while anybody waits.
 */
export interface Ledger {
  /** How a session begins that a message or a command makes. */
  readonly newSessions: SessionStart;
  /**
   * T1: the message, its user row and its turn; on a repeated id the first one's ids. With a quiet token there is no user
   * row, `seq` is the session's newest message, and the session does not rise in lists.
   */
  accept(request: AcceptRequest): Promise<AcceptResult>;
  /** Reads what a turn needs and marks it running; `userId` is who is answered. Fenced. */
  openTurn(fence: Fence, turnId: string, historyLimit: number, userId?: string): Promise<OpenedTurn>;
  /** T2: one model answer. Iteration 1 brings the user's entry (iteration 0) along. Repeating a row is a no-op. */
  journalAnswer(fence: Fence, turnId: string, rows: JournalRow[]): Promise<void>;
  /**
   * A plan and all that belongs to it: its row, what the model and what people read of it, the todo list, and what the
   * planning calls cost, once per turn. Without a plan only the cost. Fenced; the same plan again is a no-op.
   */
  storePlan(fence: Fence, turnId: string, planning: PlanningRecord): Promise<void>;
  /** Replaces a plan of this session, and the todo list where `todos` is given. Fenced. */
  updatePlan(fence: Fence, plan: Plan, todos?: readonly Todo[]): Promise<void>;
  /** The `part`-th fact of a plan under way, the plan as it is after it, and its todo list. Fenced; a part that is there stays. */
  planFact(
    fence: Fence,
    turnId: string,
    entry: ContextEntry & { kind: 'plan_fact' },
    plan: Plan,
    todos: readonly Todo[],
  ): Promise<void>;
  /** T3: before a tool that is not `pure` runs. */
  toolIntent(
    fence: Fence,
    turnId: string,
    iteration: number,
    entry: ContextEntry & { kind: 'tool_intent' },
  ): Promise<void>;
  /** T4: after it ran. */
  toolResult(
    fence: Fence,
    turnId: string,
    iteration: number,
    entry: ContextEntry & { kind: 'tool_result' },
    tokens: number,
  ): Promise<void>;
  /** T5: the platform ids of the growing message's parts, as far as they exist. */
  notePlaceholder(fence: Fence, turnId: string, sent: SentMessage[]): Promise<void>;
  /** What waits behind a held head and may become part of its turn, oldest first; nothing in other modes than `steer` and `collect`. */
  waitingBehind(fence: Fence, limit: number): Promise<WaitingBehind>;
  /**
   * Takes messages that wait behind the head into its turn: what the model reads of them is journaled, their own turns
   * are over (`joined`). All or nothing, fenced, safe to repeat. False when the turn was stopped before: then nothing is done.
   */
  joinTurn(
    fence: Fence,
    turnId: string,
    join: { rows: JournalRow[]; joined: { seq: number; turnId: string }[] },
  ): Promise<boolean>;
  /** T6: ends the head, stores final rows and usage, queues the delivery; claims the session's next message and the delivery. */
  finishTurn(fence: Fence, finish: TurnFinish): Promise<LaneStep>;
  /** Stores the platform ids of a delivery's parts that are on screen so far. Fenced by the `out:` head. */
  noteSent(fence: Fence, ref: string, sent: SentMessage[]): Promise<void>;
  /** Platform ids known for `ref` (a turn id or a notice's ref). */
  sentParts(ref: string): Promise<SentMessage[]>;
  /** The newest plan of a turn as it stands, for its card. */
  planOf(turnId: string): Promise<Plan | undefined>;
  /** True while something queued for the address is not delivered: what begins meanwhile must not be seen above it. */
  undelivered(address: Address): Promise<boolean>;
  /** T7: ends the `out:` head with the ids of all parts. */
  finishDelivery(fence: Fence, ref: string, sent: SentMessage[]): Promise<LaneStep>;
  /** Queues a message outside any turn (a notice, a command's reply); the same `key`, else `ref`, is queued once. */
  enqueue(address: Address, payload: DeliveryPayload, node?: string): Promise<LaneStep>;
  /** The session an address speaks to. */
  sessionOf(address: Address): Promise<SessionKey>;
  session(key: SessionKey): Promise<SessionRecord | undefined>;
  /** Newest first; `ownerTokenId` limits to sessions that token made. */
  sessions(options: {
    limit: number;
    ownerTokenId?: string | undefined;
    before?: Date | undefined;
  }): Promise<SessionRecord[]>;
  /** Undefined when there is no such session, unless `make` says whose it is to be when it is made for this. */
  updateSession(
    key: SessionKey,
    change: {
      profileId?: string;
      model?: string | null;
      mode?: SessionRecord['mode'];
      queueMode?: SessionRecord['queueMode'];
    },
    make?: { ownerTokenId?: string | undefined },
  ): Promise<SessionRecord | undefined>;
  /** Forgets a session: its messages, context, turns and queue. False when there is none. */
  deleteSession(key: SessionKey): Promise<boolean>;
  /** The newest `limit` messages before `before`, ascending. */
  messages(
    key: SessionKey,
    options: { limit: number; before?: number | undefined },
  ): Promise<MessageRecord[]>;
  /** How a turn stands: its final message once it is done. */
  turn(turnId: string): Promise<
    | {
        session: SessionKey;
        state: 'queued' | 'running' | 'parked' | 'done';
        reason?: string | undefined;
        final?: MessageRecord | undefined;
        /** Of all model calls made for a finished turn together, whatever for; undefined when none was made. */
        usage?: Usage | undefined;
      }
    | undefined
  >;
  /** Records the usage of a call that no `finishTurn` accounts for. */
  noteUsage(note: UsageNote): Promise<void>;
  /** Whether a turn of the session is under way (running or parked), and how many messages wait behind it. */
  queue(key: SessionKey): Promise<{ busy: boolean; waiting: number }>;
  /** Queue depth and counts for status and metrics; `gateways` are those that run on this database now. */
  counts(): Promise<{
    pending: number;
    running: number;
    deadLetters: number;
    sessions: number;
    gateways: number;
  }>;
}
