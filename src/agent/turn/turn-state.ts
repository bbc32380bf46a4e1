/** The state of a running turn: its identity, its context and its progress. */
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { PersonQuestion } from '../../protocol/agent/approvals.ts';
import type { ModelUsage } from '../../protocol/agent/usage.ts';
import type { CallerOptions, FinishReason, Usage } from '../../protocol/agent/provider.ts';
import type { ContextEntry, OtherSurface, TurnApproval, TurnFailure } from '../../protocol/store/records.ts';
import type { EventBody, TurnEndReason } from '../../protocol/event.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import type { PlanToRun } from '../../protocol/agent/plan-store.ts';
import type { Log } from '../../protocol/log.ts';
import type { Address, Payer, SessionKey } from '../../protocol/message.ts';
import type { ExecutionMode, Plan } from '../../protocol/agent/plan.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { SubagentCall } from '../../protocol/agent/subagents.ts';
import type { UserRole } from '../../protocol/agent/tool.ts';
import type { ContextSize } from '../prompt/context-window.ts';
import type { PromptContext } from '../prompt/system-prompt.ts';
import type { ContextRow, Group } from '../prompt/history.ts';
import type { PreparedProfile } from '../prompt/prepared-profile.ts';
import type { DelayedFlag } from '../../lib/async/delayed-flag.ts';
import { Reply } from './reply.ts';
import type { TraceNotes } from './trace-notes.ts';
import type { TurnRows } from './turn-rows.ts';
import type { Say } from '../../protocol/texts/say.ts';

/** Identity of a turn: its lane and ids, its user, its address. */
export interface TurnIdentity {
  /** Proof of ownership of the lane's head. */
  fence: Fence;
  /** In a subagent its own id, which is also the id of its journal. */
  turnId: string;
  /** Set in a subagent: the turn that started it. */
  parentTurnId?: string | undefined;
  sessionKey: SessionKey;
  /** Name of the folder of the session's files. */
  folder: string;
  /** The address that the answer goes to. */
  address: Address;
  /** The message on the platform that the answer replies to. */
  replyTo?: string | undefined;
  /** The user who is answered, the same in every chat. */
  userId: string;
  /** On whose account its model calls are. */
  payer: Payer;
  /** Whose memories it reads and writes: the user's, or those of the end user that a client named. */
  memoryOwner: string;
  /** Their name on the platform. */
  userName?: string | undefined;
  /** The bot answers in the name of this owner, to whom the user has written; an id of the platform. */
  onBehalfOf?: string | undefined;
  /** An owner, when their message was accepted; for the prompt, and for who is asked about budgets. */
  isOwner?: boolean | undefined;
  /** Looked up at the first tool call, because owners may be stored in the database. */
  userRole?: UserRole | undefined;
  /** Who typed the whole message that it answers (`authorOf`); undefined when others, or a model, have a part in it. */
  author?: string | undefined;
  /** Where its question was asked: requests for approval that are raised in a group are shown nowhere else. */
  askedIn: 'private' | 'group';
  /** In a group others read the answer: also `group` if another chat of the session is one. */
  place: 'private' | 'group';
  /** The other chats that share the session; none in a subagent. */
  surfaces: readonly OtherSurface[];
  /** False in a background subagent: no human can be asked there. */
  mayAsk?: boolean | undefined;
  /** Says texts in the language of the person who is answered; in English what the model of another turn reads. */
  say: Say;
  log: Log;
}

/** Input of the model calls. It changes between two calls when the profile is switched or the history is compressed. */
export interface TurnContext {
  profile: Profile;
  prepared: PreparedProfile;
  /** The model that the message asked for; it wins over the profile's. */
  askedModel?: string | undefined;
  /** What the caller asks of the answer; over HTTP only. */
  options?: CallerOptions | undefined;
  /** Resolved at the first model call when nothing names one. */
  model?: string | undefined;
  /** Models that failed in this turn, oldest first. */
  triedModels?: readonly string[] | undefined;
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
  /** The user has been told that the model has not begun to answer. */
  isSlowNoted?: boolean | undefined;
  /** Why the last answer ended; undefined before the first, and for one that is in the journal. */
  lastFinish?: FinishReason | undefined;
  /** The turn waited for its caller's tools, and their results did not come in time. */
  unanswered?: boolean | undefined;
  /** True for a turn that was planned before a crash, even if no plan came of it. */
  planned?: boolean | undefined;
  /** The stored plan that the turn runs. */
  toRun?: PlanToRun | undefined;
  /** The turn only asks this person. */
  question?: PersonQuestion | undefined;
  /** The current state of the turn's plan, if it has one. */
  plan?: Plan | undefined;
  /** Approvals asked for in this turn, newest first. */
  approvals: readonly TurnApproval[];
  /**
   * New messages of the same user may join the turn; undefined for a subagent. `payload` is the message that it answers;
   * `unreported` are joined turns that no `messages_joined` event has named yet.
   */
  steering?: { payload: TurnPayload; unreported: string[] } | undefined;
}

/** What one attempt of a turn runs with on this node. */
export interface TurnAttempt {
  signal: AbortSignal;
  /** Like `signal`, but lets a tool finish on shutdown: a tool cut short is worse than a slow shutdown. */
  toolSignal: AbortSignal;
  /** Notes in the lane that the turn only waits for a place at its model's server; undefined where others work under the same head. */
  waits?: DelayedFlag | undefined;
  /** What this attempt does; undefined in a subagent. */
  trace?: TraceNotes | undefined;
  /** Starts subagents; undefined in a subagent. */
  agents?: Subagents | undefined;
}

/** A running turn, whole where it begins, runs and ends. Every other function takes the parts, or the fields, that it reads. */
export type Turn = TurnIdentity & TurnContext & TurnProgress & TurnAttempt;

/** Result of a turn. `text` is shown to users; the rows to commit with it are still fresh in the turn. */
export interface TurnResult {
  reason: TurnEndReason;
  text: string;
  isError: boolean;
  failure?: TurnFailure | undefined;
}

/**
 * The subagents of one turn. `callKey` is the same in every attempt of a call; `reader` is the turn, or the step of its
 * plan, whose model makes the call; `signal` aborts with the turn or before it.
 */
export interface Subagents {
  forCall(reader: Turn, callKey: string, signal: AbortSignal): SubagentCall;
}

/** Size of the context that the next turn of the session would read, this turn included. */
export function contextSize({ history, past: pastRows, rows }: Turn): ContextSize {
  const turnRows = [rows.user, ...rows.steps].filter(({ entry }) => entry.kind !== 'tool_intent');
  const sum = (all: readonly { tokens: number }[]): number =>
    all.reduce((total, { tokens }) => total + tokens, 0);
  return { tokens: sum(history) + sum(turnRows), rows: pastRows.length + turnRows.length };
}

/** The reply that the answers in the journal add up to. */
export function replySoFar(rows: TurnRows): Reply {
  const reply = new Reply();
  for (const { entry } of rows.answers()) reply.addCall(entry.content);
  return reply;
}

/**
 * Notifies readers that the text of these model calls is void. Readers that have it from a snapshot, which names no
 * call, get the text that is valid. A subagent's text is not part of the turn's.
 */
export function emitReset(turn: Turn, msgIds: readonly string[], emit: (event: EventBody) => void): void {
  for (const msgId of msgIds) emit({ type: 'stream_reset', msgId });
  if (turn.parentTurnId === undefined) emit({ type: 'snapshot', text: turn.reply.text });
}

/** The id of a turn's n-th model call. A repeated call keeps its id, after a `stream_reset` (B-37). */
export function callMsgId({ turnId }: Turn, iteration: number): string {
  return `${turnId}.${iteration}`;
}

/**
 * Usage of the calls that leave no answer in the journal: broken calls, corrections, explanations, summaries. The next row
 * that is journaled stores it too, so a crash loses only the calls since that row, and nothing is counted twice.
 */
export class UnjournaledUsage {
  readonly #all: ModelUsage[];
  /** How many of them are stored already. */
  #reported: number;

  /** Continues from the usage in a journal. */
  constructor(journal: readonly { entry: ContextEntry }[] = []) {
    this.#all = journal.flatMap(({ entry }) => ('spent' in entry ? (entry.spent ?? []) : []));
    this.#reported = this.#all.length;
  }

  add(usage: ModelUsage): void {
    this.#all.push(usage);
  }

  /** Includes those from the journal. */
  get all(): readonly ModelUsage[] {
    return this.#all;
  }

  /** The usage that is not stored yet, by model, for the row that is journaled next. It counts as stored from then on. */
  takeUnreported(): { spent?: ModelUsage[] } {
    const usages = sumByModel(this.#all.slice(this.#reported));
    this.#reported = this.#all.length;
    return usages.length === 0 ? {} : { spent: usages };
  }
}

/**
 * Stores the usage that is not in the journal of a turn that is released and will continue later. Throws `StoreError`.
 */
export async function recordUnreported(
  ledger: Ledger,
  { turnId, parentTurnId, sessionKey: session, userId, otherUsage }: Turn,
): Promise<void> {
  const whose = { turnId: parentTurnId ?? turnId, session, userId };
  const purpose = parentTurnId === undefined ? 'turn' : 'subagent';
  for (const usage of otherUsage.takeUnreported().spent ?? [])
    await ledger.noteUsage({ ...usage, ...whose, purpose, holder: turnId });
}

/**
 * Usage of a turn's model calls, by model: its answers and all other calls, including those before a crash. Answers that
 * name no model count for the turn's.
 */
export function usageOf(turn: Turn): ModelUsage[] {
  const answers = turn.rows.paidAnswers().flatMap(({ usage, model = turn.model ?? '' }) => {
    return usage === undefined ? [] : [{ ...usage, model }];
  });
  return sumByModel([...answers, ...turn.otherUsage.all]);
}

/** Adds one usage to another. */
export function addUsage(sum: Usage, more: Usage): Usage {
  return {
    promptTokens: sum.promptTokens + more.promptTokens,
    completionTokens: sum.completionTokens + more.completionTokens,
    modelMs: sum.modelMs + more.modelMs,
    ...((sum.estimated || more.estimated) && { estimated: true }),
  };
}

/** One sum per model, in the order of their first use. */
function sumByModel(all: readonly ModelUsage[]): ModelUsage[] {
  const sums = new Map<string, Usage>();
  for (const { model, ...usage } of all) {
    const sum = sums.get(model);
    sums.set(model, sum === undefined ? usage : addUsage(sum, usage));
  }
  return [...sums].map(([model, usage]) => ({ ...usage, model }));
}

/** The role of a turn's user, looked up once; `system` for turns of the gateway itself. Throws `StoreError`. */
export async function userRoleOf(
  turn: Turn,
  isOwner: (userId: string) => Promise<boolean>,
): Promise<UserRole> {
  if (turn.userId === 'system') return 'system';
  turn.userRole ??= (await isOwner(turn.userId)) ? 'owner' : 'user';
  return turn.userRole;
}
