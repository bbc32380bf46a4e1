/** The state of a running turn: its identity, its context and its progress. */
import type { Fence } from '../../contracts/lanes.ts';
import type { TurnPayload } from '../../contracts/ledger.ts';
import type { Log } from '../../contracts/log.ts';
import type { Address, SessionKey } from '../../contracts/message.ts';
import type { ExecutionMode, Plan } from '../../contracts/plan.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { TurnApproval } from '../../contracts/records.ts';
import type { SubagentCall } from '../../contracts/subagents.ts';
import type { UserRole } from '../../contracts/tool.ts';
import type { ContextSize } from '../prompt/context-window.ts';
import type { PromptContext } from '../prompt/system-prompt.ts';
import type { ContextRow, Group } from '../prompt/history.ts';
import type { PreparedProfile } from '../prompt/prepared-profile.ts';
import { Reply } from './reply.ts';
import type { TurnRows } from './turn-rows.ts';
import type { UnjournaledUsage } from './unjournaled-usage.ts';

/** Identity of a turn: its lane and ids, its user, its address. */
export interface TurnIdentity {
  /** Proof of ownership of the lane's head. */
  fence: Fence;
  /** In a subagent its own id, which is also the id of its journal. */
  turnId: string;
  /** Set in a subagent: the turn that started it. */
  parentTurnId?: string | undefined;
  sessionKey: SessionKey;
  /** The address that the answer goes to. */
  address: Address;
  /** The user who is answered, the same in every chat. */
  userId: string;
  /** Their name on the platform. */
  userName?: string | undefined;
  /** Looked up at the first tool call, because owners may be stored in the database. */
  userRole?: UserRole | undefined;
  /** In a group others read the answer. */
  place: 'private' | 'group';
  log: Log;
}

/** Input of the model calls. It changes between two calls when the profile is switched or the history is compressed. */
export interface TurnContext {
  profile: Profile;
  prepared: PreparedProfile;
  /** The model that the message asked for; it wins over the profile's. */
  askedModel?: string | undefined;
  /** Resolved at the first model call when nothing names one. */
  model?: string | undefined;
  /** The parts of the prompt that are not the conversation. */
  promptContext: PromptContext;
  /** Messages of earlier turns. */
  history: readonly Group[];
  /** The rows behind `history`. */
  past: readonly ContextRow[];
  /** Mode of a plan of this turn: the session's mode when the turn began. */
  mode: ExecutionMode;
  /** An answer that consists of this token is not shown; undefined when every answer is shown, or a message is on screen already. */
  silentToken?: string | undefined;
}

/** Progress of a turn, in this attempt and in those before a crash. */
export interface TurnProgress {
  rows: TurnRows;
  reply: Reply;
  /** Usage of calls that broke or were stopped after the model had begun, and of calls outside the conversation. */
  otherUsage: UnjournaledUsage;
  /** True when an earlier attempt may have shown text that is not in the journal. */
  restarted: boolean;
  /** True when the last answer reached its maximum length. */
  cutOff: boolean;
  /** True for a turn that was planned before a crash, even if no plan came of it. */
  planned?: boolean | undefined;
  /** The current state of the turn's plan, if it has one. */
  plan?: Plan | undefined;
  /** Approvals asked for in this turn, newest first. */
  approvals: readonly TurnApproval[];
  /**
   * New messages of the same user may join the turn; undefined for a subagent. `payload` is the message that it answers;
   * `unreported` are joined turns that no `messages_joined` event has named yet.
   */
  joining?: { payload: TurnPayload; unreported: string[] } | undefined;
}

/** A running turn. A function that needs a part of it takes that part as its parameter. */
export interface Turn extends TurnIdentity, TurnContext, TurnProgress {
  signal: AbortSignal;
  /** Like `signal`, but lets a tool finish on shutdown: a tool cut short is worse than a slow shutdown. */
  toolSignal: AbortSignal;
  /** Starts subagents; undefined in a subagent. */
  agents?: Subagents | undefined;
  /** False in a background subagent: no human can be asked there. */
  mayAsk?: boolean | undefined;
}

/**
 * The subagents of one turn. `callKey` is the same in every attempt of a call; `reader` is the turn, or the step of its
 * plan, whose model makes the call; `signal` aborts with the turn or before it.
 */
export interface Subagents {
  forCall(reader: TurnContext & TurnProgress, callKey: string, signal: AbortSignal): SubagentCall;
}

/** Size of the context that the next turn of the session would read, this turn included. */
export function contextSize({ history, past, rows }: TurnContext & TurnProgress): ContextSize {
  const own = [rows.user, ...rows.steps].filter(({ entry }) => entry.kind !== 'tool_intent');
  const sum = (all: readonly { tokens: number }[]): number =>
    all.reduce((total, { tokens }) => total + tokens, 0);
  return { tokens: sum(history) + sum(own), rows: past.length + own.length };
}

/** The reply that the answers in the journal add up to. */
export function replySoFar(rows: TurnRows): Reply {
  const reply = new Reply();
  for (const { entry } of rows.answers()) reply.addCall(entry.content);
  return reply;
}

/** The id of a turn's n-th model call. A repeated call keeps its id, after a `stream_reset` (B-37). */
export function callMsgId({ turnId }: Pick<TurnIdentity, 'turnId'>, iteration: number): string {
  return `${turnId}.${iteration}`;
}
