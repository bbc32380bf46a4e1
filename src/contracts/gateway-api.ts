/** The API of the gateway for channels. Session methods take the caller and give undefined for what the caller may not see. */
import type { Caller } from './access.ts';
import type { ApprovalRecord, Decided } from './approvals.ts';
import type { EventFilter, EventListener, EventReplay } from './bus.ts';
import type { CommandListing } from './command.ts';
import type { StopResult } from './lanes.ts';
import type { SessionKey } from './message.ts';
import type { FollowChatMigration } from './message.ts';
import type { Todo } from './notes.ts';
import type { PlanAction, PlanAnswer, PlanRecord } from './plan-store.ts';
import type { ChatChunk, ChatMessage, Usage } from './provider.ts';
import type { Receive } from './receive.ts';
import type { ApprovalDecision, MessageRecord, SessionRecord } from './records.ts';
import type { ScheduleApi } from './schedules.ts';
import type { UsageGroup, UsageQuery, UsageReport } from './usage.ts';

/** A completion without a session: the given messages are the whole context, only `pure` tools run, nothing is stored but usage. */
export interface StatelessRequest {
  messages: ChatMessage[];
  /** `default`, a profile id, or a model name. */
  model: string;
  temperature?: number | undefined;
  maxTokens?: number | undefined;
}

/** State of a turn, for channels that wait for its end. */
export interface TurnStatus {
  state: 'queued' | 'running' | 'parked' | 'done';
  reason?: string | undefined;
  final?: MessageRecord | undefined;
  /** Sum of all model calls of a finished turn. */
  usage?: Usage | undefined;
}

/** Methods throw only `GatewayError`. */
export interface GatewayApi {
  receive: Receive;
  /** Called by a channel when its platform reports a new id of a chat. */
  chatMoved: FollowChatMigration;
  /** The commands that channels list for users. */
  commands: readonly CommandListing[];
  /** The caller behind an `Authorization` header's value, or undefined. */
  authenticate(authorization: string | undefined): Promise<Caller | undefined>;
  stop(caller: Caller, key: SessionKey): Promise<StopResult | undefined>;
  sessions(caller: Caller, options: { limit: number; before?: Date | undefined }): Promise<SessionRecord[]>;
  session(caller: Caller, key: SessionKey): Promise<SessionRecord | undefined>;
  /** Throws `GatewayError('unknown_model' | 'unknown_profile' | 'bad_mode' | 'bad_queue_mode' | 'forbidden')`. */
  updateSession(
    caller: Caller,
    key: SessionKey,
    change: { profileId?: string; model?: string | null; mode?: string; queueMode?: string },
  ): Promise<SessionRecord | undefined>;
  /** Deletes the session; false when there is none that the caller may see. */
  deleteSession(caller: Caller, key: SessionKey): Promise<boolean>;
  messages(
    caller: Caller,
    key: SessionKey,
    options: { limit: number; before?: number | undefined },
  ): Promise<MessageRecord[] | undefined>;
  /** The newest plan of a session, and its todo list. */
  plan(
    caller: Caller,
    key: SessionKey,
  ): Promise<{ newest: PlanRecord | undefined; todos: Todo[] } | undefined>;
  /** Approval requests that the caller may decide, oldest first. */
  approvals(caller: Caller, options: { limit: number }): Promise<ApprovalRecord[]>;
  /** Decides an approval request; `forbidden` must look like `unknown` to clients. */
  decide(caller: Caller, approvalId: string, decision: ApprovalDecision): Promise<Decided>;
  /**
   * Acts on a running plan; with `stepId` a skip applies to that step and no later one. Undefined when the caller may see
   * no such plan.
   */
  actOnPlan(
    caller: Caller,
    planId: string,
    action: PlanAction,
    stepId?: string,
  ): Promise<PlanAnswer | undefined>;
  turn(turnId: string): Promise<TurnStatus | undefined>;
  schedules: ScheduleApi;
  /** `default`, the profile ids, then the provider's models. Throws `ProviderError` when the model server is unreachable. */
  models(signal: AbortSignal): Promise<string[]>;
  /** Resolves the `model` of a request. Throws `GatewayError('unknown_model')`, or `ProviderError` when the server is unreachable. */
  resolveModel(model: string, signal: AbortSignal): Promise<{ profileId?: string; model?: string }>;
  complete(caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  subscribe(filter: EventFilter, listener: EventListener): () => void;
  replay(key: SessionKey, lastEventId: string | undefined): EventReplay;
  /** Usage of models: an admin sees everything, another token its own. */
  usage(caller: Caller, span: Pick<UsageQuery, 'from' | 'to'>, by: UsageGroup): Promise<UsageReport>;
  health(): Promise<HealthReport>;
  /** Prometheus text. */
  metrics(): Promise<string>;
}

/** Health of a channel, for `/readyz` and `parley status`. */
export interface ChannelHealth {
  state: 'off' | 'starting' | 'up' | 'degraded' | 'dead';
  /** What is wrong and how to fix it; absent when `up`. */
  detail?: string;
}

/** Public, without a token: it contains no secret and no name of a person. */
export interface HealthReport {
  ready: boolean;
  store: 'up' | 'down';
  model: { state: 'up' | 'down'; detail?: string };
  /** By name; `label` is the network's name as people write it. */
  channels: Record<string, ChannelHealth & { label: string }>;
  /** `degraded` while a file of a profile is invalid and its last valid content is used. */
  profiles: { state: 'up' | 'degraded'; detail?: string };
  pending: number;
  running: number;
  version: string;
  /** `npm run demo`: answers come from a script, and the page says so. */
  demo: boolean;
}
