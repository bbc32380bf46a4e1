/** The gateway as channels see it: one object, every session method behind an owner check. */
import { missingScope } from '../../protocol/command.ts';
import type { EventBus } from '../../protocol/bus.ts';
import type { GatewayApi, MemoryApi, PlanApi } from '../../protocol/gateway-api.ts';
import { checkChoice, type ChoiceDeps, choosable } from '../choice.ts';
import { listingInAll, listingOf } from '../commands/commands.ts';
import { createFileApi } from './file-api.ts';
import type { Caller } from '../../protocol/access.ts';
import {
  MAX_MEMORIES,
  MAX_UNVERIFIED_MEMORIES,
  type MemoryStore,
  type UserId,
} from '../../protocol/store/notes.ts';
import type { ScheduleApi, Schedules } from '../../protocol/schedules.ts';
import { isAdmin, ownedSessions, type Visible } from '../sessions/ownership.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { parseAddress } from '../../protocol/message.ts';
import type { Receive } from '../../protocol/receive.ts';
import type { PlanRecord, PlanStore } from '../../protocol/agent/plan-store.ts';
import { cancelStored, type ChangePlanDeps, changeSteps } from '../plans/change-plan.ts';
import { startPlan, type StartPlanDeps } from '../plans/start-plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { createSurfaceApi } from '../surfaces/surface-api.ts';
import { createConversationApi } from '../sessions/conversation-api.ts';
import type { GatewayApiDeps } from './deps.ts';
import { createSessionApi } from './session-api.ts';
import { createTurnApi } from './turn-api.ts';
import { type Cost, costOfModels, type UsageGroupSum } from '../../protocol/agent/usage.ts';

/** Most plans in one list. */
const MAX_LISTED = 100;

interface PlanApiDeps extends ChangePlanDeps, StartPlanDeps {
  plans: PlanStore;
  ledger: ChangePlanDeps['ledger'] & StartPlanDeps['ledger'];
  receive: Receive;
}

type ModelApi = Pick<
  GatewayApi,
  'resolveModel' | 'models' | 'describeModel' | 'checkOptions' | 'embed' | 'complete'
>;

/** Makes the API. Methods throw only `GatewayError`. */
export function createGatewayApi(deps: GatewayApiDeps): GatewayApi {
  const owned = ownedSessions(deps.ledger);
  const { visible } = owned;
  const choice: ChoiceDeps = {
    profiles: deps.profiles,
    defaultModel: (id) => deps.models.describe(id, 'person'),
  };
  return {
    ...createSessionApi(deps, visible, choice),
    ...createTurnApi(deps, visible),
    ...createModelApi(deps, visible, choice),
    receive: deps.receive,
    suggest: deps.suggest,
    hooks: deps.hooks,
    webhook: (channel) => deps.platform(channel)?.webhook,
    interactions: (channel) => deps.platform(channel)?.interactions,
    chatMoved: deps.chatMoved,
    membershipChanged: deps.membershipChanged,
    messagesDeleted: deps.messagesDeleted,
    signIns: deps.signIns,
    responses: deps.responses,
    commands: listingInAll(deps.commands),
    commandsFor: (caller, say) =>
      listingOf(
        deps.commands.filter((command) => missingScope(caller, command) === undefined),
        say,
      ),
    ...accessOf(deps.accessPolicy),
    turnConcurrency: deps.turnConcurrency,
    conversations: createConversationApi(deps, visible),
    files: createFileApi({
      ...owned,
      files: deps.files,
      limits: deps.fileLimits,
      personLimit: deps.filesPerPerson,
      kept: deps.keptFiles,
      typeOf: deps.fileTypeOf,
    }),
    audio: deps.audio,
    memories: createMemoryApi(deps.memories),
    plans: createPlanApi(deps, visible),
    surfaces: createSurfaceApi(deps, owned),
    schedules: createScheduleApi(deps.schedules, visible),
    noteRefusal: deps.noteRefusal,
    noteRequest: deps.noteRequest,
    ...eventsOf(deps.events),
    usage: createUsageApi(deps),
    health: deps.health,
    metrics: deps.metrics,
    settings: deps.settings,
    administration: deps.administration,
  };
}

function accessOf(
  accessPolicy: GatewayApiDeps['accessPolicy'],
): Pick<GatewayApi, 'groups' | 'mayWrite' | 'authenticate' | 'recheck'> {
  return {
    groups: (channel) => accessPolicy.groups(channel),
    mayWrite: async (message) => (await accessPolicy.mayWrite(message)) !== undefined,
    authenticate: (authorization) => accessPolicy.authenticate(authorization),
    recheck: (authorizations) => accessPolicy.recheck(authorizations),
  };
}

function eventsOf(events: EventBus): Pick<GatewayApi, 'subscribe' | 'replay' | 'lastEventId'> {
  return {
    subscribe: (filter, listener) => events.subscribe(filter, listener),
    replay: (key, lastEventId) => events.replay(key, lastEventId),
    lastEventId: (key) => events.lastEventId(key),
  };
}

/** Makes the `MemoryApi`. */
function createMemoryApi(memories: Pick<MemoryStore, 'memories' | 'deleteMemories'>): MemoryApi {
  return {
    own: (caller) => memories.memories(userOf(caller), MAX_MEMORIES + MAX_UNVERIFIED_MEMORIES),
    deleteMemory: async (caller, id) => (await memories.deleteMemories(userOf(caller), id)) > 0,
  };
}

function userOf({ tokenId }: Caller): UserId {
  return `token:${tokenId}`;
}

/** Makes the report of usage: a caller sees its own, an admin that of all. Throws only `StoreError`. */
function createUsageApi(deps: Pick<GatewayApiDeps, 'usage' | 'prices'>): GatewayApi['usage'] {
  return async (caller, span, by) => {
    const query = isAdmin(caller) ? span : { ...span, userId: `token:${caller.tokenId}` };
    const prices = deps.prices();
    const priced = Object.keys(prices.models).length > 0;
    const [{ groups, more }, total, models] = await Promise.all([
      deps.usage.groups(query, by),
      deps.usage.sum(query),
      priced ? deps.usage.models(query) : [],
    ]);
    const cost = (of: readonly UsageGroupSum[]): { cost?: Cost } => {
      const sum = costOfModels(prices, of);
      return sum === undefined ? {} : { cost: sum };
    };
    return {
      groups: by === 'model' ? groups.map((group) => ({ ...group, ...cost([group]) })) : groups,
      more,
      total: { ...total, ...cost(models) },
    };
  };
}

/** Makes the API; `visible` returns a session the caller may see. */
function createScheduleApi(schedules: Schedules, visible: Visible): ScheduleApi {
  const isTheirs = async (caller: Caller, id: string): Promise<boolean> => {
    const found = await schedules.find(id);
    return found !== undefined && (isAdmin(caller) || found.creatorId === creatorOf(caller));
  };
  return {
    list: async (caller, session) =>
      await schedules.list({ session, creatorId: isAdmin(caller) ? undefined : creatorOf(caller) }),
    async add(caller, { id, session, task, when }) {
      if ((await visible(caller, session)) === undefined) return undefined;
      return await schedules.add({
        id,
        session,
        address: session,
        creatorId: creatorOf(caller),
        task,
        when,
      });
    },
    change: async (caller, id, change) =>
      (await isTheirs(caller, id)) ? await schedules.change(id, change) : undefined,
    runNow: async (caller, id) => (await isTheirs(caller, id)) && (await schedules.runNow(id)),
    runs: async (caller, id, say) =>
      (await isTheirs(caller, id)) ? await schedules.runs(id, say) : undefined,
    remove: async (caller, id) => (await isTheirs(caller, id)) && (await schedules.remove(id)),
  };
}

function creatorOf(caller: Caller): string {
  return `token:${caller.tokenId}`;
}

/** Makes it. Methods throw only `GatewayError`. */
function createModelApi(deps: GatewayApiDeps, visible: Visible, choice: ChoiceDeps): ModelApi {
  /** Throws `GatewayError` for a model that the caller may not choose, or when its tokens are used up. */
  const checkCall = async (caller: Caller, model: string, signal: AbortSignal): Promise<void> => {
    if (isAdmin(caller)) return;
    await checkChoice(choice, caller, undefined, await deps.models.resolve(model, signal));
    await deps.checkTokenBudget(`token:${caller.tokenId}`);
  };
  return {
    resolveModel: (model, signal) => deps.models.resolve(model, signal),
    async checkOptions(caller, { key, choice: asked, options }, signal) {
      const session = await visible(caller, key);
      await deps.agent.checkOptions({ session, choice: asked, options }, signal);
    },
    async embed(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      return await deps.agent.embed(caller, request, signal);
    },
    models: async (caller, signal) => await choosable(choice, caller, await deps.models.list(signal)),
    async describeModel(caller, model, signal) {
      const asked = await deps.models.resolve(model, signal);
      if (!isAdmin(caller)) await checkChoice(choice, caller, undefined, asked);
      return await deps.agent.describeModel(asked, signal);
    },
    async *complete(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      yield* deps.agent.complete(caller, request, signal);
    },
  };
}

/** Makes the API. `visible` returns a session that the caller may see. */
function createPlanApi(deps: PlanApiDeps, visible: Visible): PlanApi {
  const read = async (caller: Caller, planId: string): Promise<PlanRecord | undefined> => {
    const record = await deps.plans.plan(planId);
    return record && (await visible(caller, record.session)) && record;
  };
  return {
    read,
    async list(caller, key) {
      return (await visible(caller, key)) && (await deps.plans.plans(key, MAX_LISTED));
    },
    async change(caller, planId, version, edits) {
      return (await read(caller, planId)) && (await changeSteps(deps, planId, () => edits, version));
    },
    async cancel(caller, planId) {
      return (await read(caller, planId)) && (await cancelStored(deps, planId));
    },
    async run(caller, planId, { messageId, language, ...asked }) {
      const record = await read(caller, planId);
      if (record === undefined) return undefined;
      const { session } = record;
      const place = parseAddress(session);
      if (place.channel !== 'http')
        throw new GatewayError('not_an_http_session', textRef('plan.elsewhere', { channel: place.channel }));
      const { content, options } = await startPlan(deps, record, asked);
      const message = {
        ...place,
        id: messageId,
        senderId: `token:${caller.tokenId}`,
        content,
        language,
        media: [],
        timestamp: Date.now(),
        place: 'private' as const,
        mentioned: true,
      };
      return { receipt: await deps.receive(message, { ...options, caller }), session };
    },
  };
}
