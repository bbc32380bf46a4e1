/** The gateway as channels see it: one object, every session method behind an owner check. */
import type { Caller, AccessPolicy } from '../contracts/access.ts';
import type { Approvals, Decider } from '../contracts/approvals.ts';
import type { EventBus, MessageBus } from '../contracts/bus.ts';
import type { CommandListing } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { GatewayApi } from '../contracts/gateway-api.ts';
import type { HealthReport } from '../contracts/gateway-api.ts';
import type { Ledger } from '../contracts/ledger.ts';
import type { SessionKey } from '../contracts/message.ts';
import type { FollowChatMigration } from '../contracts/message.ts';
import type { PlanStore } from '../contracts/plan-store.ts';
import type { Receive } from '../contracts/receive.ts';
import type { SessionRecord } from '../contracts/records.ts';
import type { TodoStore } from '../contracts/notes.ts';
import type { Schedules } from '../contracts/schedules.ts';
import type { UsageStore } from '../contracts/usage.ts';
import { isAdmin, maySee } from './ownership.ts';
import { readQueueMode } from './queue-command.ts';
import { stopSession } from './commands.ts';
import { createScheduleApi } from './schedule-api.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import { readMode } from '../contracts/plan.ts';
import { refuseWhilePlanRuns } from './modes.ts';
import { actOnPlan } from './plan-control.ts';

/** Most rows in a page of messages or sessions; a higher limit is lowered. */
const MAX_PAGE = 200;

/** Longest time for the model servers to list their models, in milliseconds. */
const SERVERS_MS = 10_000;

export interface GatewayApiDeps {
  receive: Receive;
  chatMoved: FollowChatMigration;
  commands: readonly CommandListing[];
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
  accessPolicy: Pick<AccessPolicy, 'authenticate'>;
  ledger: Ledger;
  events: EventBus;
  approvals: Approvals;
  plans: Pick<PlanStore, 'plan' | 'latestPlan' | 'planRequests' | 'requestOnPlan'>;
  todos: Pick<TodoStore, 'todos'>;
  schedules: Schedules;
  usage: UsageStore;
  profileIds: () => readonly string[];
  /** Completions without a session. */
  agent: Pick<GatewayApi, 'complete'>;
  models: {
    list: GatewayApi['models'];
    resolve: GatewayApi['resolveModel'];
    /** Throws `GatewayError` when no model can answer under that profile and waiting would not help. */
    checkProfile(id: string, signal: AbortSignal): Promise<void>;
  };
  health: () => Promise<HealthReport>;
  metrics: () => Promise<string>;
}

/** Makes the API. Methods throw only `GatewayError`. */
export function createGatewayApi(deps: GatewayApiDeps): GatewayApi {
  const visible = async (caller: Caller, key: SessionKey): Promise<SessionRecord | undefined> => {
    const record = await deps.ledger.session(key);
    return record !== undefined && maySee(caller, record) ? record : undefined;
  };
  return {
    receive: deps.receive,
    chatMoved: deps.chatMoved,
    commands: deps.commands,
    authenticate: (authorization) => deps.accessPolicy.authenticate(authorization),
    resolveModel: (model, signal) => deps.models.resolve(model, signal),
    async stop(caller, key) {
      return (await visible(caller, key)) === undefined ? undefined : await stopSession(deps, key, false);
    },
    async sessions(caller, { limit, before }) {
      const ownerTokenId = isAdmin(caller) ? undefined : caller.tokenId;
      return await deps.ledger.sessions({ limit: Math.min(limit, MAX_PAGE), before, ownerTokenId });
    },
    session: visible,
    async updateSession(caller, key, change) {
      if ((await visible(caller, key)) === undefined) return undefined;
      if (!isAdmin(caller) && (change.profileId !== undefined || change.model !== undefined))
        throw ownersOnly();
      const checked = await checkedChange(change, deps);
      if (checked.mode !== undefined) await refuseWhilePlanRuns(deps, key);
      const changed = await deps.ledger.updateSession(key, checked);
      if (checked.mode !== undefined) deps.events.emit(key, { type: 'mode_changed', mode: checked.mode });
      return changed;
    },
    async deleteSession(caller, key) {
      if ((await visible(caller, key)) === undefined) return false;
      await stopSession(deps, key, true);
      return await deps.ledger.deleteSession(key);
    },
    async messages(caller, key, { limit, before }) {
      if ((await visible(caller, key)) === undefined) return undefined;
      return await deps.ledger.messages(key, { limit: Math.min(limit, MAX_PAGE), before });
    },
    async plan(caller, key) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const [newest, todos] = await Promise.all([deps.plans.latestPlan(key), deps.todos.todos(key)]);
      return { newest, todos };
    },
    approvals: (caller, { limit }) =>
      deps.approvals.pending({ limit, ownerTokenId: isAdmin(caller) ? undefined : caller.tokenId }),
    decide: (caller, approvalId, decision) => deps.approvals.decide(approvalId, decision, deciderOf(caller)),
    schedules: createScheduleApi(deps.schedules, visible),
    async actOnPlan(caller, planId, action, stepId) {
      const record = await deps.plans.plan(planId);
      if (record === undefined || (await visible(caller, record.session)) === undefined) return undefined;
      return await actOnPlan(deps, record, action, deciderOf(caller), stepId);
    },
    turn: (turnId) => deps.ledger.turn(turnId),
    models: (signal) => deps.models.list(signal),
    complete: (caller, request, signal) => deps.agent.complete(caller, request, signal),
    subscribe: (filter, listener) => deps.events.subscribe(filter, listener),
    replay: (key, lastEventId) => deps.events.replay(key, lastEventId),
    async usage(caller, span, by) {
      const query = isAdmin(caller) ? span : { ...span, userId: `token:${caller.tokenId}` };
      const [{ groups, more }, total] = await Promise.all([
        deps.usage.groups(query, by),
        deps.usage.sum(query),
      ]);
      return { groups, more, total };
    },
    health: deps.health,
    metrics: deps.metrics,
  };
}

function deciderOf(caller: Caller): Decider {
  const { tokenId } = caller;
  return { userId: `token:${tokenId}`, name: 'the HTTP API', owner: isAdmin(caller), tokenId };
}

type SessionChange = Parameters<GatewayApi['updateSession']>[2];

async function checkedChange(
  change: SessionChange,
  deps: Pick<GatewayApiDeps, 'profileIds' | 'models'>,
): Promise<Parameters<Ledger['updateSession']>[1]> {
  const { profileId, model, mode, queueMode } = change;
  const profileIds = deps.profileIds();
  if (profileId !== undefined && !profileIds.includes(profileId)) {
    throw new GatewayError(
      'unknown_profile',
      `There is no profile "${clipName(profileId)}". Profiles: ${profileIds.join(', ')}.`,
    );
  }
  const signal = AbortSignal.timeout(SERVERS_MS);
  if (profileId !== undefined) await deps.models.checkProfile(profileId, signal);
  if (typeof model === 'string') await deps.models.resolve(model, signal);
  return {
    ...(profileId && { profileId }),
    ...(model !== undefined && { model }),
    ...(mode && { mode: readMode(mode) }),
    ...(queueMode !== undefined && { queueMode: readQueueMode(queueMode) }),
  };
}

function ownersOnly(): GatewayError {
  const text = 'Only a token with the scope "admin" can change the profile or the model of a session.';
  return new GatewayError('forbidden', text);
}

function clipName(name: string): string {
  return name.slice(0, 80);
}
