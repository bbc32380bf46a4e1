/** The gateway as channels see it: one object, every session method behind an owner check. */
import type { BudgetReport } from '../../protocol/agent/budgets.ts';
import type { Caller } from '../../protocol/access.ts';
import type { Channel } from '../../protocol/channel.ts';
import { missingScope } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { GatewayApi, MemoryApi, PlanApi } from '../../protocol/gateway-api.ts';
import { parseAddress } from '../../protocol/message.ts';
import type { CallerOptions, DescribedModel } from '../../protocol/agent/provider.ts';
import {
  type Cost,
  costOfModels,
  type Prices,
  type UsageGroupSum,
  type UsageStore,
} from '../../protocol/agent/usage.ts';
import type { Replays } from '../../protocol/agent/replays.ts';
import type { Receive } from '../../protocol/receive.ts';
import type { ScheduleApi, Schedules } from '../../protocol/schedules.ts';
import {
  MAX_MEMORIES,
  MAX_UNVERIFIED_MEMORIES,
  type MemoryStore,
  type UserId,
} from '../../protocol/store/notes.ts';
import type { PlanRecord } from '../../protocol/agent/plan-store.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { listingInAll, listingOf } from '../commands.ts';
import type { Intake, IntakeContext } from '../context.ts';
import { cancelStored, changeSteps, restoreDropped, startPlan } from '../plans/change-plan.ts';
import { checkChoice, choosable, isAdmin, ownedSessions, type Visible } from '../sessions.ts';
import { createSurfaceApi } from '../surfaces/surface-api.ts';
import { createConversationApi } from './conversation-api.ts';
import { createQuestionApi, type QuestionParts } from './question-api.ts';
import { createFileApi, type FileStorage } from './file-api.ts';
import { createReplayApi } from './replay-api.ts';
import { createSessionApi } from './session-api.ts';
import { createTurnApi, type ExplainTurn } from './turn-api.ts';

const MAX_LISTED = 100;
/** Facts that a search finds. */
const MAX_FOUND_MEMORIES = 20;

/** Completions without a session, and what is known about models. */
export interface ApiAgent {
  complete: GatewayApi['complete'];
  embed: GatewayApi['embed'];
  replays: Replays;
  describeModel(choice: { profileId?: string; model?: string }, signal: AbortSignal): Promise<DescribedModel>;
  /** Throws `FieldError` for an option that the model cannot honor. */
  checkOptions(
    request: {
      session: SessionRecord | undefined;
      choice: { profileId?: string; model?: string };
      options: CallerOptions;
    },
    signal: AbortSignal,
  ): Promise<void>;
}

/** What the API is made from, besides the intake. */
export interface ApiParts extends QuestionParts {
  agent: ApiAgent;
  storage: FileStorage;
  schedules: Schedules;
  prices: () => Prices;
  /** The budgets of a person, or all. Throws only `StoreError`. */
  budgets: { report(of: { person: UserId } | 'all'): Promise<BudgetReport[]> };
  explainTurn: ExplainTurn;
  channels: ReadonlyMap<string, Channel>;
}

/** Makes all of the API that belongs to sessions, messages and turns. Methods throw only `GatewayError`. */
export function createGatewayApi(
  { context, commands, ...intake }: Intake,
  { agent, storage, schedules, prices, budgets, explainTurn, channels, ...people }: ApiParts,
) {
  const { accessPolicy, events, store } = context;
  const sessions = ownedSessions(context);
  const { visible } = sessions;
  return {
    ...intake,
    ...createSessionApi(context, storage.files, visible),
    ...createTurnApi(context, explainTurn, visible),
    ...createModelApi(context, agent, visible),
    ...createQuestionApi(context, people, visible),
    webhook: (channel) => channels.get(channel)?.webhook,
    answerRequest: (channel) => channels.get(channel)?.answerRequest,
    interactions: (channel) => channels.get(channel)?.interactions,
    commands: listingInAll(commands),
    commandsFor: (caller, say) =>
      listingOf(
        commands.filter((command) => missingScope(caller, command) === undefined),
        say,
      ),
    groups: (channel) => accessPolicy.groups(channel),
    mayWrite: async (message) => (await accessPolicy.mayWrite(message)) !== undefined,
    authenticate: (authorization) => accessPolicy.authenticate(authorization),
    recheck: (authorizations) => accessPolicy.recheck(authorizations),
    conversations: createConversationApi(context, storage, visible),
    files: createFileApi(sessions, storage),
    memories: createMemoryApi(store.memories),
    plans: createPlanApi(context, intake.receive, visible),
    surfaces: createSurfaceApi(context, sessions),
    schedules: createScheduleApi(schedules, visible),
    noteRefusal: context.noteRefusal,
    subscribe: (filter, listener) => events.subscribe(filter, listener),
    replay: (key, lastEventId) => events.replay(key, lastEventId),
    lastEventId: (key) => events.lastEventId(key),
    usage: createUsageApi(store.usage, prices, budgets),
    replays: createReplayApi(context, agent.replays, prices, visible),
  } satisfies Partial<GatewayApi>;
}

function createMemoryApi(memories: MemoryStore): MemoryApi {
  return {
    own: (caller, words) =>
      words === undefined
        ? memories.memories(userOf(caller), MAX_MEMORIES + MAX_UNVERIFIED_MEMORIES)
        : memories.searchMemory(userOf(caller), words, MAX_FOUND_MEMORIES),
    deleteMemory: async (caller, id) => (await memories.deleteMemories(userOf(caller), id)) > 0,
  };
}

function userOf({ tokenId }: Caller): UserId {
  return `token:${tokenId}`;
}

/** Makes the report of usage: a caller sees its own, an admin that of all. Throws only `StoreError`. */
function createUsageApi(
  usage: UsageStore,
  pricesNow: () => Prices,
  budgets: ApiParts['budgets'],
): GatewayApi['usage'] {
  return async (caller, span, by) => {
    const query = isAdmin(caller) ? span : { ...span, userId: userOf(caller) };
    const prices = pricesNow();
    const priced = Object.keys(prices.models).length > 0;
    const [{ groups, more }, total, models, reports] = await Promise.all([
      usage.groups(query, by),
      usage.sum(query),
      priced ? usage.models(query) : [],
      budgets.report(isAdmin(caller) ? 'all' : { person: userOf(caller) }),
    ]);
    const cost = (of: readonly UsageGroupSum[]): { cost?: Cost } => {
      const sum = costOfModels(prices, of);
      return sum === undefined ? {} : { cost: sum };
    };
    return {
      groups: by === 'model' ? groups.map((group) => ({ ...group, ...cost([group]) })) : groups,
      more,
      total: { ...total, ...cost(models) },
      ...(reports.length > 0 && { budgets: reports }),
    };
  };
}

function createScheduleApi(schedules: Schedules, visible: Visible): ScheduleApi {
  const isTheirs = async (caller: Caller, id: string): Promise<boolean> => {
    const schedule = await schedules.find(id);
    return schedule !== undefined && (isAdmin(caller) || schedule.creatorId === userOf(caller));
  };
  return {
    list: async (caller, session) =>
      await schedules.list({ session, creatorId: isAdmin(caller) ? undefined : userOf(caller) }),
    async add(caller, { id, session, task, when }) {
      if ((await visible(caller, session)) === undefined) return undefined;
      const creatorId = userOf(caller);
      return await schedules.add({ id, session, address: session, creatorId, task, when });
    },
    change: async (caller, id, change) =>
      (await isTheirs(caller, id)) ? await schedules.change(id, change) : undefined,
    runNow: async (caller, id) => (await isTheirs(caller, id)) && (await schedules.runNow(id)),
    runs: async (caller, id, say) =>
      (await isTheirs(caller, id)) ? await schedules.runs(id, say) : undefined,
    remove: async (caller, id) => (await isTheirs(caller, id)) && (await schedules.remove(id)),
  };
}

/** Makes it. Methods throw only `GatewayError`. */
function createModelApi(context: IntakeContext, agent: ApiAgent, visible: Visible) {
  const { models } = context;
  /** Throws `GatewayError` for a model that the caller may not choose. */
  const checkCall = async (caller: Caller, model: string, signal: AbortSignal): Promise<void> => {
    if (isAdmin(caller)) return;
    await checkChoice(context, caller, undefined, await models.resolve(model, signal));
  };
  return {
    resolveModel: (model, signal) => models.resolve(model, signal),
    async checkOptions(caller, { key, choice, options }, signal) {
      const session = await visible(caller, key);
      await agent.checkOptions({ session, choice, options }, signal);
    },
    async embed(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      return await agent.embed(caller, request, signal);
    },
    models: async (caller, signal) => await choosable(context, caller, await models.list(signal)),
    async describeModel(caller, model, signal) {
      const choice = await models.resolve(model, signal);
      if (!isAdmin(caller)) await checkChoice(context, caller, undefined, choice);
      return await agent.describeModel(choice, signal);
    },
    async *complete(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      yield* agent.complete(caller, request, signal);
    },
  } satisfies Partial<GatewayApi>;
}

function createPlanApi(context: IntakeContext, receive: Receive, visible: Visible): PlanApi {
  const { plans } = context.store;
  const read = async (caller: Caller, planId: string): Promise<PlanRecord | undefined> => {
    const record = await plans.plan(planId);
    return record && (await visible(caller, record.session)) && record;
  };
  return {
    read,
    async list(caller, key) {
      return (await visible(caller, key)) && (await plans.plans(key, MAX_LISTED));
    },
    async change(caller, planId, version, edits) {
      return (await read(caller, planId)) && (await changeSteps(context, planId, () => edits, version));
    },
    async cancel(caller, planId) {
      return (await read(caller, planId)) && (await cancelStored(context, planId));
    },
    async restore(caller, planId) {
      return (await read(caller, planId)) && (await restoreDropped(context, planId));
    },
    async run(caller, planId, { messageId, language, ...run }) {
      const record = await read(caller, planId);
      if (record === undefined) return undefined;
      const { session } = record;
      const address = parseAddress(session);
      if (address.channel !== 'http')
        throw new GatewayError(
          'not_an_http_session',
          textRef('plan.elsewhere', { channel: address.channel }),
        );
      const { content, options } = await startPlan(context, record, run);
      const message = {
        ...address,
        id: messageId,
        senderId: userOf(caller),
        content,
        language,
        media: [],
        timestamp: Date.now(),
        place: 'private' as const,
        mentioned: true,
      };
      return { receipt: await receive(message, { ...options, caller }), session };
    },
  };
}
