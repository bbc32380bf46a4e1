/** The gateway's API for channels. Methods on sessions return undefined for what their caller may not see. */
import type { PluginStatus } from './operator/plugins.ts';
import type { BudgetReport } from './agent/budgets.ts';
import type { Say, TextRef } from './texts/say.ts';
import type { HookApi } from './operator/webhooks.ts';
import type { SignInApi } from './operator/sign-in.ts';
import type { ModelOmissions } from './agent/omissions.ts';
import type { Caller } from './access.ts';
import type {
  ApprovalRecord,
  ApprovalRule,
  Decided,
  DecisionDetail,
  PersonQuestion,
} from './agent/approvals.ts';
import type { StoreState, EventFilter, EventListener, EventReplay } from './bus.ts';
import type { CommandListing, Suggest } from './command.ts';
import type { MemoryRecord, Todo } from './store/notes.ts';
import type { AudioApi, FileApi } from './file-api.ts';
import type { InlineFile } from './media.ts';
import type { StopResult } from './store/lanes.ts';
import type { McpState } from './agent/tool.ts';
import type { ServeMcp } from './mcp-offer.ts';
import type { FollowChatMigration, InboundMessage, NoteMembership, SessionKey } from './message.ts';
import type { Administration } from './operator/administration.ts';
import type {
  CallerOptions,
  ChatChunk,
  ChatMessage,
  DescribedModel,
  Embeddings,
  EmbedRequest,
  ReplacedModel,
  Usage,
} from './agent/provider.ts';
import type { NoteDeleted } from './store/group-chats.ts';
import type { ReplayApi } from './agent/replays.ts';
import type { SettingsReport } from './settings.ts';
import type { NoteRefusal, TurnExplanation } from './store/traces.ts';
import type { ExecutionMode, Plan, StepEdit } from './agent/plan.ts';
import type { AnswerPlatform, PlatformInteractions, PlatformWebhook, Receipt, Receive } from './receive.ts';
import type { NumberedPlan, PlanAction, PlanAnswer, PlanRecord } from './agent/plan-store.ts';
import type { ResponseStore } from './store/ledger.ts';
import type { ApprovalDecision, MessageRecord, SessionRecord } from './store/records.ts';
import type {
  ListedSession,
  SessionChange,
  SessionListQuery,
  SessionListStore,
  TurnStatus,
} from './sessions/session-list.ts';
import type { PushApi } from './operator/push.ts';
import type { ConversationApi } from './sessions/conversation-api.ts';
import type { SurfaceApi } from './sessions/surfaces.ts';
import type { MessagesWithWork } from './sessions/turn-work.ts';
import type { ScheduleApi } from './schedules.ts';
import type { UsageGroup, UsageQuery, UsageReport } from './agent/usage.ts';

/**
 * A completion without a session: its messages are the whole context, only usage is stored. If the caller brings tools,
 * only those are offered, and their calls end the answer; otherwise the gateway's `pure` ones run.
 */
export interface StatelessRequest {
  messages: StatelessMessage[];
  model: string;
  options?: CallerOptions | undefined;
  /** Report the likelihood of each token, with that many alternatives. */
  topLogprobs?: number | undefined;
  /** Nothing is sent before the end: an answer without the requested form may be asked for again. */
  whole?: boolean | undefined;
}

/** A message with the files that its user sent; they are not stored. */
export type StatelessMessage = ChatMessage & { files?: InlineFile[] };

/** Results of the tools that a caller runs, and options for the rest of the answer. */
export interface ToolAnswers {
  results: readonly { toolCallId: string; content: string }[];
  options?: CallerOptions | undefined;
}

/** Whom a program has asked what. */
export interface AskedPerson {
  question: string;
  /** A name, an address or a network; without it the bot's only owner, or the only other chat of the session. */
  to?: string | undefined;
  /** The person shares this session of the caller; without it an owner asks anyone who has written to the bot. */
  session?: SessionKey | undefined;
}

/** The turn that resumes, and what was answered before it stopped. */
export interface ContinuedTurn {
  turnId: string;
  before: { text: string; usage: Usage };
  /** The number of model answers so far. */
  part: number;
  /** The same results had already arrived. */
  repeated: boolean;
}

/** Methods throw only `GatewayError`. */
export interface GatewayApi {
  /** For admin tokens; the channel has checked that. */
  administration: Administration;
  receive: Receive;
  suggest: Suggest;
  hooks: HookApi;
  /** The webhook of a channel's platform; undefined for one that receives in a different way. */
  webhook(channel: string): PlatformWebhook | undefined;
  /** Answers the platform of a channel that checks its requests itself; undefined for any other. */
  answerRequest(channel: string): AnswerPlatform | undefined;
  /** Where a channel's platform posts interactions; undefined for one that does not. */
  interactions(channel: string): PlatformInteractions | undefined;
  /** Called by a channel when its platform reports a new id of a chat. */
  chatMoved: FollowChatMigration;
  /** Called by a channel when the bot joins a chat or can no longer write there. */
  membershipChanged: NoteMembership;
  /** Called by a channel when its platform reports that messages were deleted. */
  messagesDeleted: NoteDeleted;
  signIns: SignInApi;
  commands: readonly CommandListing[];
  /** The commands that this caller may use, described in English, or worded by `say`. */
  commandsFor(caller: Caller, say?: Say): readonly CommandListing[];
  groups(channel: string): Promise<string[]>;
  /** Whether the sender of a message may write where it was written; without side effects. Throws only `StoreError`. */
  mayWrite(message: InboundMessage): Promise<boolean>;
  readonly turnConcurrency: number;
  /** The caller behind an `Authorization` header's value, or undefined. */
  authenticate(authorization: string | undefined): Promise<Caller | undefined>;
  /** The callers behind these values as they are now, bypassing any cache; invalid ones are missing. */
  recheck(authorizations: readonly string[]): Promise<ReadonlyMap<string, Caller>>;
  stop(caller: Caller, key: SessionKey): Promise<StopResult | undefined>;
  /** As lists show them: marked ones first, then the newest. */
  sessions(caller: Caller, options: Omit<SessionListQuery, 'ownerTokenId'>): Promise<ListedSession[]>;
  /** By words of titles and messages, among the sessions that the caller may see. */
  searchSessions(caller: Caller, text: string, limit: number): ReturnType<SessionListStore['searchSessions']>;
  session(caller: Caller, key: SessionKey): Promise<SessionRecord | undefined>;
  /** Sessions the caller's token owns, counted up to `limit`. */
  sessionCount(caller: Caller, limit: number): Promise<number>;
  /** Throws `GatewayError('unknown_model' | 'unknown_profile' | 'bad_mode' | 'bad_queue_mode' | 'bad_title' | 'forbidden')`. */
  updateSession(caller: Caller, key: SessionKey, change: SessionChange): Promise<SessionRecord | undefined>;
  /** Stops the session, then deletes it with everything that belongs to it; false when there is none that the caller may see. */
  deleteSession(caller: Caller, key: SessionKey): Promise<boolean>;
  messages(
    caller: Caller,
    key: SessionKey,
    options: { limit: number; before?: number | undefined },
  ): Promise<MessageRecord[] | undefined>;
  /** As `messages`, with the work of their turns, within the limits of `WorkStore`; titles of steps worded by `say`. */
  messagesWithWork(
    caller: Caller,
    key: SessionKey,
    options: { limit: number; before?: number | undefined },
    say?: Say,
  ): Promise<MessagesWithWork | undefined>;
  conversations: ConversationApi;
  files: FileApi;
  audio: AudioApi;
  memories: MemoryApi;
  push: PushApi;
  /** The newest plan of a session, and its todo list. */
  plan(
    caller: Caller,
    key: SessionKey,
  ): Promise<{ newest: PlanRecord | undefined; todos: Todo[] } | undefined>;
  plans: PlanApi;
  surfaces: SurfaceApi;
  /** Approval requests that the caller may decide, oldest first, and then questions of others to them. */
  approvals(caller: Caller, options: { limit: number }): Promise<ApprovalRecord[]>;
  /** Decides an approval request; `forbidden` must look like `unknown` to clients. */
  decide(
    caller: Caller,
    approvalId: string,
    decision: ApprovalDecision,
    detail?: DecisionDetail,
  ): Promise<Decided>;
  /**
   * Answers a question that another person has the caller asked; without an answer, refuses it, and with `never` all later
   * ones, too. `forbidden` must look like `unknown` to clients.
   */
  answer(
    caller: Caller,
    questionId: string,
    reply: { answer: string } | { never: boolean },
  ): Promise<Decided>;
  /**
   * Has a person asked by the message, which `send` accepts with the question; a repeated message gets its first turn, and
   * no one is asked again. Throws `GatewayError`: `not_asked` with the reason, `too_many_questions`, `session_not_found`.
   */
  askPerson(
    caller: Caller,
    message: InboundMessage,
    asked: AskedPerson,
    send: (question: PersonQuestion | undefined) => Promise<Receipt>,
  ): Promise<Receipt>;
  approvalRules(caller: Caller): Promise<ApprovalRule[]>;
  /** False when the caller may see no such rule. */
  removeApprovalRule(caller: Caller, id: string): Promise<boolean>;
  /**
   * Acts on a running plan; a skip with `stepId` skips only that step. Undefined when the caller may see no such plan.
   * The answer is in English, or worded by `say`.
   */
  actOnPlan(
    caller: Caller,
    planId: string,
    action: PlanAction,
    stepId?: string,
    say?: Say,
  ): Promise<PlanAnswer | undefined>;
  turn(turnId: string): Promise<TurnStatus | undefined>;
  /** What happened to a turn of a session that the caller may see; the text of errors is for admins. */
  trace(caller: Caller, turnId: string, say?: Say): Promise<TurnExplanation | undefined>;
  replays: ReplayApi;
  /** Counts a message that a channel does not pass on. */
  noteRefusal: NoteRefusal;
  /**
   * Continues the turn that waits for its caller's tools; undefined when the caller may see no such session. Throws
   * `GatewayError('no_tools_pending' | 'bad_tool_results')`.
   */
  answerTools(caller: Caller, key: SessionKey, answers: ToolAnswers): Promise<ContinuedTurn | undefined>;
  /** Throws `FieldError` for an option that the model of the session, or of the choice, cannot honor; also `ProviderError`. */
  checkOptions(
    caller: Caller,
    asked: { key: SessionKey; choice: { profileId?: string; model?: string }; options: CallerOptions },
    signal: AbortSignal,
  ): Promise<void>;
  /** Vectors of texts; the usage is stored. Throws `ProviderError`, `GatewayError('unknown_model')`, `StoreError`. */
  embed(caller: Caller, request: EmbedRequest, signal: AbortSignal): Promise<Embeddings>;
  /** The newest message that this caller sent to the session; `sentAt` in epoch milliseconds. */
  newestOwnMessage(
    caller: Caller,
    key: SessionKey,
  ): Promise<{ turnId: string; seq: number; content: string; sentAt: number } | undefined>;
  /** Those of these turns that are queued or running. */
  unfinishedTurns(turnIds: readonly string[]): Promise<ReadonlySet<string>>;
  schedules: ScheduleApi;
  /** What clients of `/v1/responses` refer to by id. */
  responses: Omit<ResponseStore, 'purgeResponses'>;
  /**
   * What the caller may name as `model`: `default`, its profiles, and for admins the servers' models, else the one it
   * would get. Throws `ProviderError` when the model server is unreachable.
   */
  models(caller: Caller, signal: AbortSignal): Promise<string[]>;
  /** Resolves the `model` of a request. Throws `GatewayError('unknown_model')`, or `ProviderError` when the server is unreachable. */
  resolveModel(model: string, signal: AbortSignal): Promise<{ profileId?: string; model?: string }>;
  /**
   * The model behind a request's `model`, and what it can do. Throws `GatewayError('unknown_model' | 'forbidden')`,
   * `ProviderError`.
   */
  describeModel(caller: Caller, model: string, signal: AbortSignal): Promise<DescribedModel>;
  /** Throws `GatewayError('forbidden')` for a model or a profile that the caller may not choose. */
  complete(caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  subscribe(filter: EventFilter, listener: EventListener): () => void;
  replay(key: SessionKey, lastEventId: string | undefined): EventReplay;
  /** The place of the newest event of the session: `replay` from it returns all that follow. */
  lastEventId(key: SessionKey): string;
  /** Usage of models and, where any are set, budgets: an admin sees everything, another token its own. */
  usage(
    caller: Caller,
    span: Pick<UsageQuery, 'from' | 'to'>,
    by: UsageGroup,
  ): Promise<UsageReport & { budgets?: readonly BudgetReport[] }>;
  /** The details of channels are worded by `say`, by default in English. */
  health(say?: Say): Promise<HealthReport>;
  /** The settings file, what of it is in effect, and what is not. For admins. */
  settings(): SettingsReport & { file: string; values: Readonly<Record<string, unknown>> };
  serveMcp: ServeMcp;
  /** Counts an answered request of a client. Never throws. */
  noteRequest(answered: AnsweredRequest): void;
  metrics(): Promise<string>;
}

/** A request over HTTP that was answered; `seconds` until the answer started. */
export interface AnsweredRequest {
  method: string;
  /** The path of the route, with the names of its parameters. */
  route: string;
  status: number;
  seconds: number;
}

/** Health of a channel, for `/readyz` and `parley status`. */
export interface ChannelHealth {
  /** `standby`: another node receives, and this one takes over when that ends. */
  state: 'off' | 'starting' | 'standby' | 'up' | 'degraded' | 'dead';
  /** What is wrong and how to fix it; absent when `up`. A string for what a platform or a library says, in its words. */
  detail?: TextRef | string;
  /** What operators should change on the platform, although the channel is up. Names no chat and no person. */
  notice?: TextRef;
  /** Updates that the platform holds back, if it reports them. */
  waiting?: number;
}

/** Public, without a token: it contains no secrets and no names of people. */
export interface HealthReport {
  ready: boolean;
  /** As this node's last heartbeats found it, which are writes. */
  store: StoreState;
  /** `degraded` while live events of other nodes may be late: NATS is away, or the connection that listens. */
  events: { state: 'up' | 'degraded' };
  /** `degraded` while a configured model is missing, or another one answers in its place. `name` is the default model. */
  model: {
    state: 'up' | 'degraded' | 'down';
    name?: string;
    detail?: string;
    missing?: readonly string[];
    replaced?: readonly ReplacedModel[];
    /** What the servers of models are not sent now because they refuse it. */
    omissions?: readonly ModelOmissions[];
  };
  /** By name; `label` is the network's display name. */
  channels: Record<
    string,
    Omit<ChannelHealth, 'notice' | 'detail'> & { label: string; notice?: string; detail?: string }
  >;
  /** MCP servers by name, without their errors, which may name addresses; not part of readiness. */
  mcp: Record<string, { state: McpState; tools: number }>;
  /** Plug-ins by name, without their errors; not part of readiness. */
  plugins: Record<string, { state: PluginStatus['state']; version: string }>;
  /** `degraded` while a file of a profile is invalid and its last valid content stays in use. */
  profiles: { state: 'up' | 'degraded'; detail?: string };
  /** `degraded` while `config.json` is invalid and its last valid content stays in use. */
  settings: SettingsReport & { state: 'up' | 'degraded' };
  pending: number;
  running: number;
  version: string;
  /** `npm run demo`: answers come from a script, which the page points out. */
  demo: boolean;
}

/** Throws only `StoreError`. */
export interface MemoryApi {
  /**
   * The facts about the caller, newest first: all of them, because their number is limited. With words, those that match
   * them or mean something similar, best first.
   */
  own(caller: Caller, words?: string): Promise<MemoryRecord[]>;
  deleteMemory(caller: Caller, id: number): Promise<boolean>;
}

/** The plans of sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface PlanApi {
  /** The plans of a session that are not runs of others, newest first. */
  list(caller: Caller, key: SessionKey): Promise<NumberedPlan[] | undefined>;
  read(caller: Caller, planId: string): Promise<PlanRecord | undefined>;
  /** Throws `GatewayError`: `plan_changed` if the plan's version differs, `plan_unchanged` for an impossible change. */
  change(
    caller: Caller,
    planId: string,
    version: number,
    edits: readonly StepEdit[],
  ): Promise<Plan | undefined>;
  /** Drops a plan that is only stored. Throws as `change` does. */
  cancel(caller: Caller, planId: string): Promise<Plan | undefined>;
  /** Takes `cancel` back. Throws as `change` does. */
  restore(caller: Caller, planId: string): Promise<Plan | undefined>;
  /**
   * Starts a run of the plan by a message with this id. Throws `GatewayError`: `already_running`, `plan_changed`,
   * `plan_unchanged`, `not_an_http_session`.
   */
  run(
    caller: Caller,
    planId: string,
    asked: {
      messageId: string;
      mode?: ExecutionMode | undefined;
      version?: number | undefined;
      say?: Say | undefined;
      /** The languages that they read, from the header `Accept-Language`. */
      language?: string | undefined;
    },
  ): Promise<{ receipt: Receipt; session: SessionKey } | undefined>;
}
