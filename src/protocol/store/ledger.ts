/** Every transaction in the life of a message, one function each (T1-T7 in docs/architecture.md). */
import type { CallerOptions, Usage } from '../agent/provider.ts';
import type { Attachment } from '../media.ts';
import type { InboundMessage, Address, DeliveryPayload, SentMessage, SessionKey } from '../message.ts';
import type { Fence, LaneStep } from './lanes.ts';
import type { Plan } from '../agent/plan.ts';
import type { PlanningRecord } from '../agent/plan-store.ts';
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
import type { SessionChange, SessionListStore, TurnStatus } from '../sessions/session-list.ts';
import type { CallNote } from '../agent/call-note.ts';
import type { AcceptRequest, AcceptResult } from './accept.ts';
import type { Todo } from './notes.ts';
import type { Source } from '../agent/risk.ts';
import type { UsageNote } from '../agent/usage.ts';

export type { DeliveryPayload } from '../message.ts';

/** Messages that may wait in one session. */
export const MAX_PENDING = 200;

/** How the key of a delivery ends that repeats one that was given up. */
export const SECOND_TRY = ':again';

/** Results of the tools that a turn's caller runs. */
export interface CallerResults {
  session: SessionKey;
  results: readonly { toolCallId: string; content: string; tokens: number }[];
  /** Replace those of the turn's message. */
  options?: CallerOptions | undefined;
}

export type CallerResultsOutcome =
  /** Stored, and the turn is due; or already stored (`repeated`). */
  | {
      kind: 'continued';
      turnId: string;
      before: { text: string; usage: Usage };
      part: number;
      repeated: boolean;
    }
  /** The turn waits for other calls, all of which must be answered. */
  | { kind: 'mismatch'; toolCallIds: string[] }
  | { kind: 'not_waiting' };

/** The messages waiting behind a head, as they were accepted. */
export interface WaitingBehind {
  mode: QueueMode;
  /** Milliseconds since the lane's newest message was accepted, and since the head's turn could have started. */
  quietMs: number;
  waitedMs: number;
  messages: { seq: number; payload: unknown }[];
}

/** A waiting message as it was read; `edited` counts the changes to its text. */
export interface JoinedMessage {
  seq: number;
  turnId: string;
  edited?: number | undefined;
}

/** The result of recording platform ids. */
export interface NotedParts {
  /** False when another owner now holds the lane: nothing more may be shown for it. */
  held: boolean;
  /** Messages on screen that are not part of `ref` after the write, and should be removed. */
  copies: SentMessage[];
}

/** The files of one message, kept for the user who sent them. */
export interface NotedFiles {
  folder: string;
  userId: string;
  attachments: readonly Attachment[];
}

/**
 * The transactions of messages and turns. Throws only `StoreError`; lost connections and serialization failures are
 * retried for up to 30 s. Every function is safe to repeat: a commit whose response was lost is recognized. No connection
 * is held while waiting for a model, a tool or a person.
 */
export interface Ledger extends SessionStore {
  /** What the model thought in each call of a turn, in order; calls without thinking are left out. */
  thinkingOf(turnId: string): Promise<string[]>;
  /**
   * T1: stores the message, its row and its turn; a repeated id returns the first ids. With a `silentToken` there is no user
   * row, `seq` is the session's newest message, and the session does not move up in lists.
   */
  accept(request: AcceptRequest): Promise<AcceptResult>;
  /** Reads what a turn needs and marks it running; `userId` names the user being answered. Fenced. */
  openTurn(fence: Fence, turnId: string, historyLimit: number, userId?: string): Promise<OpenedTurn>;
  /** Stores the files of a message with its row, and for whom they are kept. Fenced; safe to repeat. */
  noteFiles(fence: Fence, turnId: string, files: NotedFiles): Promise<void>;
  /** T2: one model answer. Iteration 1 also stores the user's entry (iteration 0). A repeated row is a no-op. */
  journalAnswer(fence: Fence, turnId: string, rows: JournalRow[]): Promise<void>;
  /**
   * Stores a plan with its entry, message, todo list and usage, once per turn; without a plan only the usage. Fenced; safe
   * to repeat.
   */
  storePlan(fence: Fence, turnId: string, planning: PlanningRecord): Promise<void>;
  /** Replaces a plan of this session, and the todo list if `todos` is given. Fenced. */
  updatePlan(fence: Fence, plan: Plan, todos?: readonly Todo[]): Promise<void>;
  /**
   * Stores the `part`-th fact of a running plan, with the plan and the todo list after it. Fenced; safe to repeat. False,
   * without a change, for the start of a step if people have changed the plan in the meantime.
   */
  planFact(
    fence: Fence,
    turnId: string,
    entry: ContextEntry & { kind: 'plan_fact' },
    plan: Plan,
    todos: readonly Todo[],
  ): Promise<boolean>;
  /** T3: stored before a tool that is not `pure` runs. */
  toolIntent(
    fence: Fence,
    turnId: string,
    iteration: number,
    entry: ContextEntry & { kind: 'tool_intent' },
    note?: CallNote,
  ): Promise<void>;
  /** T4: stored after a tool ran. */
  toolResult(
    fence: Fence,
    turnId: string,
    iteration: number,
    entry: ContextEntry & { kind: 'tool_result' },
    tokens: number,
    note?: CallNote,
  ): Promise<void>;
  /** Stores the results of a parked turn's calls and makes it due, all in one transaction; safe to repeat. */
  callerResults(results: CallerResults): Promise<CallerResultsOutcome>;
  /** The messages behind a running head that may join its turn, oldest first; none unless the queue mode is `steer` or `collect`. */
  waitingBehind(fence: Fence, limit: number): Promise<WaitingBehind>;
  /**
   * Joins waiting messages to the head's turn: their entries are stored, their own turns end (`joined`). All or nothing,
   * fenced, safe to repeat. False, without a change, if the turn was stopped, or one of them was changed or is gone.
   */
  joinTurn(
    fence: Fence,
    turnId: string,
    join: { rows: JournalRow[]; joined: JoinedMessage[] },
  ): Promise<boolean>;
  /** T6: ends the head, stores the final rows and the usage, and queues the delivery; claims the session's next message and the delivery. */
  finishTurn(fence: Fence, finish: TurnFinish): Promise<LaneStep>;
  /**
   * T5: stores the platform ids of all parts of `ref` (a turn, a delivery, a plan's card) on screen so far. The owner of the
   * lane replaces them; one that has lost it stores them only if there are none, so that the next owner continues in those
   * messages. Not fenced; safe to repeat.
   */
  noteSent(fence: Fence, ref: string, sent: SentMessage[]): Promise<NotedParts>;
  /** Platform ids known for `ref` (a turn id or a notice's ref). */
  sentParts(ref: string): Promise<SentMessage[]>;
  /** True once the first delivery of `ref` to this address is being sent, unless it failed: it may be on screen before its ids are stored. */
  maybeSent(address: Address, ref: string): Promise<boolean>;
  /**
   * Deliveries to this address that should have changed a message on screen and were given up, oldest first: of each message
   * the last one, unless it was a second try. As many as messages were on screen.
   */
  missedEdits(address: Address): Promise<unknown[]>;
  /** Those of these platform ids that were stored for any delivery of the last hour; with a `chat`, of those there and in its threads. */
  sentAmong(ids: readonly string[], chat?: Address): Promise<string[]>;
  /** The turn of an `in:` head, for a head whose message cannot be read; undefined when there is none. */
  turnAt(fence: Fence): Promise<{ turnId: string; address: Address } | undefined>;
  planOf(turnId: string): Promise<Plan | undefined>;
  /** True while a delivery for the address is queued: no new live message may appear above it. */
  undelivered(address: Address): Promise<boolean>;
  /** True once a delivery with this `key` (without one, `ref`) was queued for the address. */
  wasQueued(address: Address, key: string): Promise<boolean>;
  /** T7: ends the `out:` head with the ids of all parts, or keeps the stored ones; dead letters are now reported. */
  finishDelivery(fence: Fence, ref: string, sent: SentMessage[] | undefined): Promise<LaneStep>;
  /** Queues a message outside any turn (a notice, a command's reply); a repeated `key` (without one, `ref`) is queued once. */
  enqueue(address: Address, payload: DeliveryPayload, node?: string): Promise<LaneStep>;
  noteUsage(note: UsageNote): Promise<void>;
}

/** Sessions with their messages and turns, as channels, commands and schedules read and change them. Throws only `StoreError`. */
export interface SessionStore extends SessionListStore {
  /** Settings of a session that a message or a command creates. */
  readonly newSessions: SessionStart;
  /** The session that messages from an address belong to. */
  sessionOf(address: Address): Promise<SessionKey>;
  /** True for a message that was accepted before: platforms hand out again what they do not know to be committed. */
  wasAccepted(message: InboundMessage): Promise<boolean>;
  session(key: SessionKey): Promise<SessionRecord | undefined>;
  /** Changes a session. A missing one is created if `make` is given; otherwise the result is undefined. */
  updateSession(
    key: SessionKey,
    change: SessionChange & {
      mode?: SessionRecord['mode'];
      queueMode?: SessionRecord['queueMode'];
      voice?: boolean;
      voiceFailing?: boolean;
    },
    make?: { ownerTokenId?: string | undefined },
  ): Promise<SessionRecord | undefined>;
  /** Sets this title on a session without one. False, without a change, when it has one or is gone. */
  titleSession(key: SessionKey, title: string): Promise<boolean>;
  /**
   * Forgets the sources of what the session has read and noted, and returns them. Undefined, without a change, while a turn
   * is running or waiting: its end would store them again.
   */
  trustSession(key: SessionKey): Promise<readonly Source[] | undefined>;
  /** Deletes a session with its messages, context, turns and queue. False when there is none. */
  deleteSession(key: SessionKey): Promise<boolean>;
  /** The newest `limit` messages before `before`, ascending. */
  messages(
    key: SessionKey,
    options: { limit: number; before?: number | undefined },
  ): Promise<MessageRecord[]>;
  /** Sessions that a token made, counted up to `limit`. */
  sessionCount(ownerTokenId: string, limit: number): Promise<number>;
  /** Those of these turns that are queued or running; one waiting for a person is neither. */
  unfinishedTurns(turnIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The state of a turn, with its final message once it is done. */
  turn(turnId: string): Promise<(TurnStatus & { session: SessionKey }) | undefined>;
  /** The newest message of this sender that the session accepted; `sentAt` in epoch milliseconds. */
  newestFrom(
    key: SessionKey,
    senderId: string,
  ): Promise<{ turnId: string; seq: number; content: string; sentAt: number } | undefined>;
  /** Whether a turn of the session is running or parked, and how many messages are waiting behind it. */
  queue(key: SessionKey): Promise<{ busy: boolean; waiting: number }>;
  /** Queue depth and counts for status and metrics; `gateways` counts the processes now running on this database. */
  counts(): Promise<{
    pending: number;
    running: number;
    deadLetters: number;
    sessions: number;
    gateways: number;
  }>;
}

/** Throws only `StoreError`. */
export interface RemovedFolders {
  /** Those of sessions deleted within `withinMs`, by name, after the name `after`; at most `limit`. */
  removedFolders(page: { withinMs: number; after: string; limit: number }): Promise<string[]>;
}

/** Responses stored for a token; past it, those used longest ago are deleted. */
export const MAX_RESPONSES = 1_000;

/** Bytes of JSON of a token's responses, and the same again for their inputs; past it, the oldest ones are deleted. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** Bytes of JSON of a conversation that is continued by the id of its last response. */
export const MAX_CHAIN_BYTES = 16 * 1024 * 1024;

/** How long a response is stored after it was last continued. */
export const RESPONSE_MS = 24 * 3_600_000;

/** An item of an input or an output, as it is on the wire. */
export type ResponseItem = Record<string, unknown>;

export interface StoredResponse {
  id: string;
  previousId: string | undefined;
  /** The session that it was made in: what came before is there. */
  session: SessionKey | undefined;
  /** The items of its request; undefined for one that was deleted because of its size. */
  input: readonly ResponseItem[] | undefined;
  /** As it was sent; `output` lists its items. */
  body: Record<string, unknown>;
}

/** The place of an item in a stored response. */
export interface ItemPlace {
  responseId: string;
  part: 'input' | 'output';
  index: number;
}

/**
 * A conversation continued by an id. `missing`: a response, or its input, is no longer stored; `session`: it is that
 * session's conversation; `bytes`: it is larger than `MAX_CHAIN_BYTES`.
 */
type ResponseChain =
  | { items: ResponseItem[] }
  | { missing: string }
  | { session: SessionKey }
  | { bytes: number };

/** No method finds what another token stored. Throws only `StoreError`. */
export interface ResponseStore {
  /** `endUser`: whom the token's client answered, as its digest. A response of the same id is replaced. */
  storeResponse(
    owner: { tokenId: string; endUser: string | undefined },
    response: StoredResponse,
  ): Promise<void>;
  response(tokenId: string, id: string): Promise<StoredResponse | undefined>;
  /** The items at these places, in their order; undefined for each that is not there. */
  responseItems(tokenId: string, places: readonly ItemPlace[]): Promise<(ResponseItem | undefined)[]>;
  /** The items of that response and of those that it continues, the oldest first. */
  responseChain(tokenId: string, id: string): Promise<ResponseChain>;
  /** False when there is none. */
  deleteResponse(tokenId: string, id: string): Promise<boolean>;
  /** Deletes up to `limit` responses that are older than `RESPONSE_MS`; returns their number. */
  purgeResponses(limit: number): Promise<number>;
}
