/** What a channel may ask of the gateway. Every session method takes the caller and answers undefined for what it may not see. */
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

/** How a turn ended, for a caller that waits for it. */
export interface TurnStatus {
  state: 'queued' | 'running' | 'parked' | 'done';
  reason?: string | undefined;
  final?: MessageRecord | undefined;
  /** Of all model calls of a finished turn together. */
  usage?: Usage | undefined;
}

/** Methods throw only `GatewayError`. */
export interface GatewayApi {
  receive: Receive;
  /** To be told by a channel whose platform says that a chat has a new id. */
  chatMoved: FollowChatMigration;
  /** What people can write with a `/`, for the lists of the channels. */
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
  /** Forgets the session; false when there is none the caller may see. */
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
  /** What waits for the caller's decision, oldest first. */
  approvals(caller: Caller, options: { limit: number }): Promise<ApprovalRecord[]>;
  /** Answers a question; `forbidden` is to look like `unknown` outside. */
  decide(caller: Caller, approvalId: string, decision: ApprovalDecision): Promise<Decided>;
  /**
   * Acts on a plan that is being carried out; with `stepId` a skip is meant for that step and no later one. Undefined when
   * there is none such for the caller.
   */
  actOnPlan(
    caller: Caller,
    planId: string,
    action: PlanAction,
    stepId?: string,
  ): Promise<PlanAnswer | undefined>;
  turn(turnId: string): Promise<TurnStatus | undefined>;
  schedules: ScheduleApi;
  /** `default`, the profile ids, then the provider's models. Throws `ProviderError` when the model server is away. */
  models(signal: AbortSignal): Promise<string[]>;
  /** How `model` of a request is to be understood. Throws `GatewayError('unknown_model')` (also when the server is away: `ProviderError`). */
  resolveModel(model: string, signal: AbortSignal): Promise<{ profileId?: string; model?: string }>;
  complete(caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  subscribe(filter: EventFilter, listener: EventListener): () => void;
  replay(key: SessionKey, lastEventId: string | undefined): EventReplay;
  /** What models cost: an admin hears of everything, another token of what was spent for it. */
  usage(caller: Caller, span: Pick<UsageQuery, 'from' | 'to'>, by: UsageGroup): Promise<UsageReport>;
  health(): Promise<HealthReport>;
  /** Prometheus text. */
  metrics(): Promise<string>;
}

/** How a channel is doing, for `/readyz` and `parley status`. */
export interface ChannelHealth {
  state: 'off' | 'starting' | 'up' | 'degraded' | 'dead';
  /** What is wrong and how to fix it; absent when `up`. */
  detail?: string;
}

/** Answered without a token: it holds no secret and no name of a person. */
export interface HealthReport {
  ready: boolean;
  store: 'up' | 'down';
  model: { state: 'up' | 'down'; detail?: string };
  /** By name; `label` is the network's name as people write it. */
  channels: Record<string, ChannelHealth & { label: string }>;
  /** `degraded` while a file of a profile cannot be used and the last good one is. */
  profiles: { state: 'up' | 'degraded'; detail?: string };
  pending: number;
  running: number;
  version: string;
  /** `npm run demo`: answers come from a script, and the page says so. */
  demo: boolean;
}
