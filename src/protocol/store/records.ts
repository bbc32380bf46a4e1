/** Rows of the store as modules see them: messages, context, sessions and turns. */
import { z } from 'zod';
import type { TurnEndReason } from '../event.ts';
import type { Attachment } from '../media.ts';
import type { Address, OutboundMessage, SentMessage, SessionKey } from '../message.ts';
import type { ExecutionMode, Plan, PlanFact } from '../agent/plan.ts';
import type { Echo, ToolCall, Usage } from '../agent/provider.ts';
import type { Source } from '../agent/risk.ts';
import { textRef, type TextRef } from '../texts/say.ts';
import type { ModelUsage, Settlement } from '../agent/usage.ts';
import type { CallNote } from '../agent/call-note.ts';
import type { ObservedMessage } from './group-chats.ts';
import type { TraceAttempt } from './traces.ts';

/** A row of `message`: what people see, rewritten only when its sender edits it before its turn. `createdAt` is the database's clock. */
export interface MessageRecord {
  seq: number;
  turnId: string;
  role: 'user' | 'assistant' | 'system';
  content: string;
  senderName?: string | undefined;
  isPlan: boolean;
  isError: boolean;
  /** The files that came with it, once their bytes have been read. */
  attachments?: readonly Attachment[] | undefined;
  /** The model does not read it: it was taken back, or another answer was chosen. */
  leftOut?: true | undefined;
  model?: string | undefined;
  /** For an answer to a question that has several. */
  tries?: TryPlace | undefined;
  createdAt: Date;
}

/**
 * A row in `context`: what the model sees, and a turn's journal. `iteration` 0 has the user's message; iteration n ≥ 1
 * the n-th model answer (part 0) and its tool calls' intents and results, by call index.
 */
export type ContextEntry =
  /**
   * `author` typed the text (`authorOf`), and `typed` is their part of it besides quotes or files; `laneSeq` is the lane
   * place of a message that joined the running turn.
   */
  | {
      kind: 'user';
      content: string;
      author?: string | undefined;
      /** Whose memories it read, if not the author's: those of an end user of a client. */
      owner?: string | undefined;
      typed?: string | undefined;
      /** References of pictures (`Pictures`). */
      pictures?: readonly string[] | undefined;
      sources?: readonly Source[] | undefined;
      laneSeq?: number | undefined;
    }
  | {
      kind: 'assistant';
      content: string;
      thinking?: string | undefined;
      toolCalls: ToolCall[];
      /** What its server wants back. */
      echo?: Echo | undefined;
      msgId: string;
      model?: string | undefined;
      usage?: Usage | undefined;
      spent?: UsageOfOtherCalls | undefined;
      /** Sources of everything that the model had read. */
      sources?: readonly Source[] | undefined;
    }
  | { kind: 'tool_intent'; toolCallId: string; toolName: string; callIndex: number }
  | {
      kind: 'tool_result';
      toolCallId: string;
      toolName: string;
      callIndex: number;
      content: string;
      isError: boolean;
      /** Sources of its text; absent = the gateway's own. Text of others is between markers. */
      sources?: readonly Source[] | undefined;
      /** The address or query that the call sent out. */
      sent?: string | undefined;
      /** Addresses that it lists, in its order. */
      addresses?: readonly string[] | undefined;
      pictures?: readonly string[] | undefined;
    }
  /** `sources` are those of all rows it summarizes. */
  | { kind: 'summary'; content: string; sources?: readonly Source[] | undefined }
  /** The end of a subagent's own journal: the result for its turn. */
  | {
      kind: 'agent_result';
      content: string;
      completedNormally: boolean;
      sources?: readonly Source[] | undefined;
    }
  /** A plan, as the model reads it: an assistant message (N-25). */
  | { kind: 'plan'; planId: string; content: string; sources?: readonly Source[] | undefined }
  /** What happened to a running plan; `part` counts from 0. No model reads it. */
  | {
      kind: 'plan_fact';
      planId: string;
      part: number;
      fact: PlanFact;
      spent?: UsageOfOtherCalls | undefined;
    };

/** Usage by model of calls without their own row (failed, or outside the conversation) since the last row with it. */
export type UsageOfOtherCalls = readonly ModelUsage[];

/**
 * Rows from this iteration on are steps of a plan: the n-th run of a step starts at n times this number. Only their own
 * turn reads them, and summarizes them for later turns.
 */
export const STEP_ITERATIONS = 1_000;

/** The sources of a row's text; empty for one that the person or the gateway wrote. */
export function sourcesOfEntry(entry: ContextEntry): readonly Source[] {
  return 'sources' in entry ? (entry.sources ?? []) : [];
}

/** A row of the journal before it is stored. */
export interface JournalRow {
  iteration: number;
  entry: ContextEntry;
  tokens: number;
  /** What its call changes, stored in the same statement. */
  note?: CallNote | undefined;
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
 * What happens to a message that arrives during a turn: it waits (`queue`), joins the turn at its next iteration (`steer`),
 * ends it (`interrupt`), or waits for more, so that a burst becomes one message (`collect`).
 */
export type QueueMode = 'queue' | 'steer' | 'interrupt' | 'collect';

/** What people mark sessions with. */
export const sessionMarks = {
  pinned: z.boolean().describe('listed before the others'),
  archived: z.boolean().describe('listed only on request'),
};

/** Those of one session. */
export type SessionMarks = z.output<z.ZodObject<typeof sessionMarks>>;

/** A session as lists and channels see it. */
export interface SessionRecord extends SessionMarks {
  key: SessionKey;
  profileId: string;
  /** Someone has chosen this profile for the session; otherwise a binding of config.json wins. */
  profileChosen: boolean;
  model?: string | undefined;
  mode: ExecutionMode;
  queueMode: QueueMode;
  /** What lists show for it: set by a person, or generated after the first answer. */
  title?: string | undefined;
  /** The token that created an `http:` session; undefined for sessions of chats. */
  ownerTokenId?: string | undefined;
  /** Name of the folder of its files, created with the session and never reused. */
  folder: string;
  /** Sources of everything the model has read in it since `/new`, or since an owner's `/trust`. */
  sources: readonly Source[];
  /** When the model's memory starts: when the session was created, or at the last `/new`. */
  freshAt: Date;
  createdAt: Date;
  updatedAt: Date;
  messageCount: number;
  /** The last message read on the page. */
  readSeq: number;
  /** Answers are also spoken. */
  voice: boolean;
  /** The last answer could not be spoken, and the chat was notified. */
  voiceFailing: boolean;
  /** The turn whose undo was begun and is not finished. */
  undoing?: string | undefined;
}

/** Settings of a new session; users can change them (`/mode`, `/queue`). */
export type SessionStart = Pick<SessionRecord, 'mode' | 'queueMode'>;

/** Defaults when the configuration has none (S-04). */
export const SESSION_START: SessionStart = { mode: 'planner', queueMode: 'queue' };

/** Everything a turn needs to start or resume, read in one round trip. */
export interface OpenedTurn {
  session: SessionRecord;
  /** Rows this turn has already journaled, oldest first; empty at the first start. */
  journal: ContextRecord[];
  /** The last summary since `/new`, then rows of later turns, at most as many as requested, oldest first. */
  history: ContextRecord[];
  remembers: boolean;
  /** Messages already on screen for this turn, by part. */
  placeholders: SentMessage[];
  address: Address;
  surfaces: readonly OtherSurface[];
  /** Milliseconds since its message was accepted. */
  afterMs: number;
  /** Approvals the turn has waited for, newest first, at most `MAX_TURN_APPROVALS`; one that is still undecided counts as denied. */
  approvals: TurnApproval[];
  /** Planning has ended, with or without a plan, and its usage is stored. */
  planned: boolean;
  plan?: Plan | undefined;
  /** The turn waited for its caller's tools, and their results did not arrive. */
  unanswered?: boolean | undefined;
  /** An earlier attempt was about to start and never finished: its process died, stopped, or lost its lease. */
  interrupted?: boolean | undefined;
  /** The first turn with the question that it answers again: its journal starts with the question. */
  askedAgain?: string | undefined;
  /** What was said in the chat since the previous turn without naming the bot; oldest first, at most `MAX_OBSERVED`. */
  observed?: readonly ObservedMessage[] | undefined;
}

/** A chat that shares the session of a turn that was asked elsewhere, with what is on screen there of the turn. */
export interface OtherSurface {
  address: Address;
  place: 'private' | 'group';
  name?: string | null | undefined;
  userId: string;
  placeholders: SentMessage[];
}

/** Why a turn failed, for clients that have to distinguish causes: the code of its `GatewayError`. */
export interface TurnFailure {
  code: string;
  /** Milliseconds that the model server asked to wait. */
  retryAfterMs?: number | undefined;
}

/** How a turn ended, for T6. `entries` are context rows not yet journaled. */
export interface TurnFinish {
  turnId: string;
  reason: TurnEndReason;
  /** Only with the reason `failed`. */
  failure?: TurnFailure | undefined;
  /** The text people see; empty means there is no assistant message. */
  content: string;
  attachments?: readonly Attachment[] | undefined;
  isError: boolean;
  userId: string;
  /** Usage of its answers by model; empty when no model was reached. */
  usage: readonly ModelUsage[];
  /** Ends what it has reserved of budgets; absent while there are none, and for a dead letter, which may be replayed. */
  settles?: Settlement | undefined;
  entries: JournalRow[];
  /** The delivery to queue; undefined for `http`, where the stored message is the delivery. */
  outbound?: unknown;
  /**
   * The delivery for the other chats, under `surfaceRef`: to those that have joined, if private or in `groups` (absent =
   * all); of `shownOn`, those that have left get `separated` instead.
   */
  elsewhere?:
    | {
        message: Omit<OutboundMessage, 'channel' | 'chatId' | 'threadId'>;
        groups?: readonly Address[] | undefined;
        shownOn: readonly { address: Address; separated: string }[];
      }
    | undefined;
  /** Queue the answer to be spoken if the session's answers are. */
  speak?: boolean | undefined;
  /** What its last attempt did. */
  trace?: TraceAttempt | undefined;
  /** Set when the message failed permanently: the error of the dead letter, which can be replayed. */
  deadLetter?: string | undefined;
}

export type ApprovalDecision = 'approved' | 'denied';

/** Approvals of a turn that are read when it resumes; older ones have been acted on. */
export const MAX_TURN_APPROVALS = 64;

/** A decision by a user id, `expiry` or `stop`, with its `reason` if any: valid only for the call with this key and digest. */
export interface TurnApproval {
  id: string;
  callKey: string;
  digest: string;
  decision: ApprovalDecision;
  decidedBy: string;
  reason?: string | null | undefined;
  /** The arguments with which a person approved it instead, and those that the person had read. */
  changed?: Readonly<Record<string, unknown>> | null | undefined;
  shown?: unknown;
}

/** What the gateway chooses when no one else does, by name. Throws only `StoreError`. */
export interface ChoiceStore {
  chosen(name: string): Promise<string | undefined>;
  /** Stores a first choice, or one that replaces `insteadOf`, and returns the one that counts: another node may have been faster. */
  choose(name: string, value: string, insteadOf: string | undefined): Promise<string>;
}

/** Answers to one question, the first one included. */
export const MAX_TRIES = 10;

interface TryPlace {
  /** The turn of the first one, which contains the question. */
  of: string;
  /** From 1. */
  nth: number;
  count: number;
}

/** Why nothing was changed. */
export type RetryRefusal =
  | 'busy'
  | 'agents_work'
  | 'nothing'
  | 'summarized'
  | 'foreign'
  | 'too_old'
  | 'ran_a_plan'
  | 'has_client_tools'
  | 'too_many_tries';

/** Each reason as a sentence for people. */
export const RETRY_REFUSALS: Readonly<Record<RetryRefusal, TextRef>> = {
  busy: textRef('try.busy'),
  agents_work: textRef('try.agents_work'),
  nothing: textRef('try.nothing'),
  summarized: textRef('try.summarized'),
  foreign: textRef('try.foreign'),
  too_old: textRef('try.too_old'),
  ran_a_plan: textRef('try.ran_a_plan'),
  has_client_tools: textRef('try.has_client_tools'),
  too_many_tries: textRef('try.too_many_tries', { most: MAX_TRIES }),
};

/** A question of a session, and the turn whose answer to it counts. */
export interface Question {
  turnId: string;
  content: string;
}

/**
 * What the model reads of a session. A turn that is left out keeps its messages and journal. Changes lock the lane, and
 * happen only while nothing runs or waits in it. Throws only `StoreError`.
 */
export interface TryStore {
  /** The newest question of a person since `/new` that the model reads. */
  lastQuestion(session: SessionKey): Promise<Question | undefined>;
  /** Makes this turn the one that the model reads among all answers to its question; also restores what was undone. */
  choose(session: SessionKey, turnId: string): Promise<Question | RetryRefusal>;
}

/** What was chosen before its first message creates it. */
export type SessionChoice = Partial<Pick<SessionRecord, 'profileId' | 'model' | 'mode'>>;
