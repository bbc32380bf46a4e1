/** A turn in memory: what it was asked, what it has done, and the rows that are not in the journal yet. */
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
  /** The head of the lane that it holds. */
  fence: Fence;
  /** In a subagent its own id, under which its journal stands. */
  turnId: string;
  /** Set in a subagent: the turn that made it. */
  parentTurnId?: string | undefined;
  sessionKey: SessionKey;
  /** The address that the answer goes to. */
  address: Address;
  /** The user who is answered, the same in every chat. */
  userId: string;
  /** As the platform names them. */
  userName?: string | undefined;
  /** Found at the first tool call: who is an owner may stand in the database. */
  userRole?: UserRole | undefined;
  /** In a group others read the answer. */
  place: 'private' | 'group';
  log: Log;
}

/** Input of the model's calls. A switched profile, or a compressed history, changes it between two of them. */
export interface TurnContext {
  profile: Profile;
  prepared: PreparedProfile;
  /** The model asked for with the message: it stays whatever the profile. */
  askedModel?: string | undefined;
  /** Found at the first model call when nothing named one. */
  model?: string | undefined;
  /** The parts of the prompt that are not the conversation. */
  promptContext: PromptContext;
  /** Earlier turns. */
  history: readonly Group[];
  /** The rows they are made of. */
  past: readonly ContextRow[];
  /** Mode in which a plan of this turn is followed: the session's when the turn began. */
  mode: ExecutionMode;
  /** An answer that is only this is not shown; undefined when every answer is, or something is on screen already. */
  silentToken?: string | undefined;
}

/** State of a turn so far, from this attempt or from one before a crash. */
export interface TurnProgress {
  rows: TurnRows;
  reply: Reply;
  /** Of calls that broke or were stopped after the model had begun to answer, and of those beside the conversation. */
  costs: UnjournaledUsage;
  /** An earlier attempt of this turn may have shown text that is not in the journal. */
  restarted: boolean;
  /** The last answer met the limit of its length. */
  cutOff: boolean;
  /** True for a turn that was planned before a crash, also when that gave no plan. */
  planned?: boolean | undefined;
  /** The turn's plan as it stands, once there is one. */
  plan?: Plan | undefined;
  /** Approvals asked for in this turn, newest first. */
  approvals: readonly TurnApproval[];
  /**
   * Messages of its user that arrive meanwhile may join it; undefined for a subagent. `payload` is what it answers, `unreported` are
   * turns whose messages joined this one without a `messages_joined` yet.
   */
  joining?: { payload: TurnPayload; unreported: string[] } | undefined;
}

/** One turn while it runs. A function that reads a part of it asks for that part. */
export interface Turn extends TurnIdentity, TurnContext, TurnProgress {
  signal: AbortSignal;
  /** Like `signal`, but lets a tool finish on shutdown: a tool cut short is worse than a slow shutdown. */
  toolSignal: AbortSignal;
  /** Makes subagents; a subagent has none. */
  agents?: Subagents | undefined;
  /** False in a subagent that nobody waits for: no human can be asked there. */
  mayAsk?: boolean | undefined;
}

/**
 * The subagents of one turn. `callKey` is the same at each repetition of a call; `reader` is the turn, or the part of it,
 * whose model calls; `signal` ends the call, as it ends the turn or before.
 */
export interface Subagents {
  forCall(reader: TurnContext & TurnProgress, callKey: string, signal: AbortSignal): SubagentCall;
}

/** Size of what the next turn of the session would read, with this one's own rows. */
export function contextSize({ history, past, rows }: TurnContext & TurnProgress): ContextSize {
  const own = [rows.user, ...rows.steps].filter(({ entry }) => entry.kind !== 'tool_intent');
  const sum = (all: readonly { tokens: number }[]): number =>
    all.reduce((total, { tokens }) => total + tokens, 0);
  return { tokens: sum(history) + sum(own), rows: past.length + own.length };
}

/** The text of the journal's answers, joined as it was shown. */
export function replySoFar(rows: TurnRows): Reply {
  const reply = new Reply();
  for (const { entry } of rows.answers()) reply.addCall(entry.content);
  return reply;
}

/** The id of a turn's n-th model call; a repeated call keeps it, after a `stream_reset` (B-37). */
export function callMsgId({ turnId }: Pick<TurnIdentity, 'turnId'>, iteration: number): string {
  return `${turnId}.${iteration}`;
}
