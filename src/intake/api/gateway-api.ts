/** The gateway as channels see it: one object, every session method behind an owner check. */
import type { Channel } from '../../contracts/channel.ts';
import type { Caller, AccessPolicy } from '../../contracts/access.ts';
import type { Approvals, Decider } from '../../contracts/tools/approvals.ts';
import type { EventBus, MessageBus } from '../../contracts/bus.ts';
import { hasScope } from '../../contracts/access.ts';
import { missingScope } from '../../contracts/command.ts';
import type { Command } from '../../contracts/command.ts';
import type { FileLimits, FileTypeOf, PersonLimit } from '../../contracts/file-api.ts';
import type { KeptFiles } from '../../contracts/media.ts';
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import type { HealthReport } from '../../contracts/gateway-api.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { FollowChatMigration, NoteMembership } from '../../contracts/message.ts';
import type { PlanStore } from '../../contracts/store/plan-store.ts';
import type { Receive } from '../../contracts/receive.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';
import type { ForkStore } from '../../contracts/sessions/fork.ts';
import type { TryStore } from '../../contracts/sessions/tries.ts';
import type { WaitingStore } from '../../contracts/sessions/waiting.ts';
import type { WorkStore } from '../../contracts/sessions/turn-work.ts';
import type { SubagentStore } from '../../contracts/agent/subagents.ts';
import type { NoteRefusal, TurnExplanation } from '../../contracts/store/traces.ts';
import type { MemoryStore, TodoStore } from '../../contracts/store/notes.ts';
import type { SessionFiles } from '../../contracts/tools/tool.ts';
import type { Schedules } from '../../contracts/schedules.ts';
import { costOfModels } from '../../contracts/operator/prices.ts';
import type { Cost, Prices } from '../../contracts/operator/prices.ts';
import type { UsageGroupSum, UsageStore } from '../../contracts/model/usage.ts';
import { answerTools } from './caller-tools.ts';
import type { Say } from '../../contracts/texts/say.ts';
import { isAdmin, maySee } from '../sessions/ownership.ts';
import { checkChoice, choosable } from '../choice.ts';
import type { CommandDeps } from '../commands/commands.ts';
import type { ChoiceDeps } from '../choice.ts';
import { listingInAll, listingOf } from '../commands/commands.ts';
import { stopSession } from '../sessions/stop-session.ts';
import type { CheckTokenBudget } from '../limits/token-budget.ts';
import { createFileApi } from './file-api.ts';
import { createMemoryApi } from './memory-api.ts';
import { createScheduleApi } from './schedule-api.ts';
import type { LaneStore } from '../../contracts/store/lanes.ts';
import { refuseWhilePlanRuns } from '../plans/modes.ts';
import type { ChangePlanDeps } from '../plans/change-plan.ts';
import { createPlanApi } from '../plans/plan-api.ts';
import { actOnPlan } from '../plans/plan-control.ts';
import type { LinkDeps } from '../surfaces/links.ts';
import { createSurfaceApi } from '../surfaces/surface-api.ts';
import { createConversationApi } from '../sessions/conversation-api.ts';
import type { NewSessionDeps } from '../sessions/new-session.ts';
import type { SessionModelDeps } from '../sessions/session-model.ts';
import { deleteSession } from '../sessions/delete-session.ts';
import { checkedChange } from '../sessions/session-change.ts';
import { workOf } from '../sessions/turn-work.ts';

/** Most rows in a page of messages or sessions; a higher limit is reduced to this. */
const MAX_PAGE = 200;

export interface GatewayApiDeps extends Pick<
  LinkDeps,
  'surfaces' | 'labelOf' | 'networks' | 'isGroupAdmin' | 'languages' | 'log'
> {
  receive: Receive;
  suggest: GatewayApi['suggest'];
  chatMoved: FollowChatMigration;
  membershipChanged: NoteMembership;
  commands: readonly Command[];
  turnConcurrency: number;
  signIns: GatewayApi['signIns'];
  hooks: GatewayApi['hooks'];
  /** A channel, if its platform posts anything. */
  platform(channel: string): Pick<Channel, 'webhook' | 'interactions'> | undefined;
  lanes: Pick<LaneStore, 'stop'>;
  subagents: Pick<SubagentStore, 'working'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon' | 'claimingNode' | 'runHeads'>;
  accessPolicy: Pick<AccessPolicy, 'authenticate' | 'recheck' | 'groups' | 'mayWrite'>;
  ledger: Ledger;
  events: EventBus;
  approvals: Approvals;
  journals: WorkStore;
  forks: ForkStore;
  tries: TryStore;
  waiting: WaitingStore;
  plans: PlanStore;
  classify: ChangePlanDeps['classify'];
  todos: Pick<TodoStore, 'todos'>;
  memories: Pick<MemoryStore, 'memories' | 'forget'>;
  files: Pick<SessionFiles, 'remove' | 'put' | 'read' | 'list' | 'discard' | 'copy'>;
  fileLimits: FileLimits;
  filesPerPerson: PersonLimit;
  keptFiles: Pick<KeptFiles, 'keptBytes' | 'bytesIn' | 'keep' | 'drop'>;
  fileTypeOf: FileTypeOf;
  schedules: Schedules;
  usage: UsageStore;
  /** What models cost now. */
  prices: () => Prices;
  checkTokenBudget: CheckTokenBudget;
  profiles: NewSessionDeps['profiles'];
  /** Completions without a session. */
  agent: Pick<GatewayApi, 'complete' | 'embed'> & {
    /** Throws `FieldError` for an option that the model cannot honour. */
    checkOptions(
      asked: Omit<Parameters<GatewayApi['checkOptions']>[1], 'key'> & {
        session: SessionRecord | undefined;
      },
      signal: AbortSignal,
    ): Promise<void>;
  };
  models: {
    list(signal: AbortSignal): Promise<string[]>;
    describe: CommandDeps['defaultModel'];
    resolve: GatewayApi['resolveModel'];
    /** Throws `GatewayError` when no model can answer under that profile and waiting would not help. */
    checkProfile(id: string, signal: AbortSignal): Promise<void>;
  } & SessionModelDeps['models'];
  boundTo: SessionModelDeps['boundTo'];
  /** What happened to a turn; `detail` adds the text of errors. */
  explainTurn(turnId: string, detail: boolean, say?: Say): Promise<TurnExplanation | undefined>;
  noteRefusal: NoteRefusal;
  noteRequest: GatewayApi['noteRequest'];
  health: () => Promise<HealthReport>;
  metrics: () => Promise<string>;
  settings: GatewayApi['settings'];
  administration: GatewayApi['administration'];
}

/** Makes the API. Methods throw only `GatewayError`. */
export function createGatewayApi(deps: GatewayApiDeps): GatewayApi {
  const { signIns } = deps;
  const visible = async (caller: Caller, key: SessionKey): Promise<SessionRecord | undefined> => {
    const record = await deps.ledger.session(key);
    return record !== undefined && maySee(caller, record) ? record : undefined;
  };
  const make = ({ tokenId }: Caller, key: SessionKey) =>
    deps.ledger.updateSession(key, {}, { ownerTokenId: tokenId });
  const choice: ChoiceDeps = {
    profiles: deps.profiles,
    defaultModel: (id) => deps.models.describe(id, 'person'),
  };
  /** Throws `GatewayError` for a model that the caller may not choose, or when its tokens are used up. */
  const checkCall = async (caller: Caller, model: string, signal: AbortSignal): Promise<void> => {
    if (isAdmin(caller)) return;
    await checkChoice(choice, caller, undefined, await deps.models.resolve(model, signal));
    await deps.checkTokenBudget(`token:${caller.tokenId}`);
  };
  return {
    receive: deps.receive,
    suggest: deps.suggest,
    hooks: deps.hooks,
    webhook: (channel) => deps.platform(channel)?.webhook,
    interactions: (channel) => deps.platform(channel)?.interactions,
    chatMoved: deps.chatMoved,
    membershipChanged: deps.membershipChanged,
    signIns,
    commands: listingInAll(deps.commands),
    commandsFor: (caller, say) =>
      listingOf(
        deps.commands.filter((command) => missingScope(caller, command) === undefined),
        say,
      ),
    groups: (channel) => deps.accessPolicy.groups(channel),
    mayWrite: async (message) => (await deps.accessPolicy.mayWrite(message)) !== undefined,
    turnConcurrency: deps.turnConcurrency,
    authenticate: (authorization) => deps.accessPolicy.authenticate(authorization),
    recheck: (authorizations) => deps.accessPolicy.recheck(authorizations),
    resolveModel: (model, signal) => deps.models.resolve(model, signal),
    async stop(caller, key) {
      return (await visible(caller, key)) === undefined ? undefined : await stopSession(deps, key, false);
    },
    async sessions(caller, { limit, before, archived = false }) {
      const page = { limit: Math.min(limit, MAX_PAGE), before, archived };
      return await deps.ledger.listSessions({ ...page, ownerTokenId: ownerOf(caller) });
    },
    async searchSessions(caller, text, limit) {
      const ownerTokenId = ownerOf(caller);
      return await deps.ledger.searchSessions({ text, limit: Math.min(limit, MAX_PAGE), ownerTokenId });
    },
    session: visible,
    sessionCount: ({ tokenId }, limit) => deps.ledger.sessionCount(tokenId, limit),
    async updateSession(caller, key, change) {
      const before = await visible(caller, key);
      if (before === undefined) return undefined;
      await checkChoice(choice, caller, before, change);
      const checked = await checkedChange(change, deps);
      if (checked.mode !== undefined) await refuseWhilePlanRuns(deps, key);
      const changed = await deps.ledger.updateSession(key, checked);
      const { mode, title } = checked;
      if (mode !== undefined) deps.events.emit(key, { type: 'mode_changed', mode });
      if (title !== undefined) deps.events.emit(key, { type: 'session_titled', title });
      return changed;
    },
    async deleteSession(caller, key) {
      const record = await visible(caller, key);
      return record !== undefined && (await deleteSession(deps, record));
    },
    conversations: createConversationApi(deps, visible),
    async messages(caller, key, { limit, before }) {
      if ((await visible(caller, key)) === undefined) return undefined;
      return await deps.ledger.messages(key, { limit: Math.min(limit, MAX_PAGE), before });
    },
    async messagesWithWork(caller, key, page, say) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const messages = await deps.ledger.messages(key, { ...page, limit: Math.min(page.limit, MAX_PAGE) });
      const work = await workOf(deps.journals, key, [...new Set(messages.map(({ turnId }) => turnId))], say);
      return { messages, work };
    },
    files: createFileApi({
      files: deps.files,
      limits: deps.fileLimits,
      personLimit: deps.filesPerPerson,
      kept: deps.keptFiles,
      typeOf: deps.fileTypeOf,
      visible,
      make,
    }),
    memories: createMemoryApi(deps.memories),
    async plan(caller, key) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const [newest, todos] = await Promise.all([deps.plans.latestPlan(key), deps.todos.todos(key)]);
      return { newest, todos };
    },
    plans: createPlanApi(deps, visible),
    surfaces: createSurfaceApi(deps, { visible, make }),
    approvals: (caller, { limit }) =>
      deps.approvals.pending({ limit, ownerTokenId: isAdmin(caller) ? undefined : caller.tokenId }),
    decide: (caller, approvalId, decision, detail) =>
      deps.approvals.decide(approvalId, decision, deciderOf(caller), detail),
    approvalRules: (caller) => deps.approvals.rules({ ownerTokenId: ownerOf(caller) }),
    removeApprovalRule: (caller, id) => deps.approvals.removeRule(id, { ownerTokenId: ownerOf(caller) }),
    schedules: createScheduleApi(deps.schedules, visible),
    async actOnPlan(caller, planId, action, stepId, say) {
      const record = await deps.plans.plan(planId);
      if (record === undefined || (await visible(caller, record.session)) === undefined) return undefined;
      return await actOnPlan(deps, record, action, { by: deciderOf(caller), stepId, say });
    },
    turn: (turnId) => deps.ledger.turn(turnId),
    async trace(caller, turnId, say) {
      const found = await deps.explainTurn(turnId, isAdmin(caller), say);
      return found && (await visible(caller, found.session)) && found;
    },
    noteRefusal: deps.noteRefusal,
    noteRequest: deps.noteRequest,
    async answerTools(caller, key, answers) {
      return (await visible(caller, key)) && (await answerTools(deps, key, answers));
    },
    async checkOptions(caller, { key, choice: asked, options }, signal) {
      const session = await visible(caller, key);
      await deps.agent.checkOptions({ session, choice: asked, options }, signal);
    },
    async embed(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      return await deps.agent.embed(caller, request, signal);
    },
    newestOwnMessage: (caller, key) => deps.ledger.newestFrom(key, `token:${caller.tokenId}`),
    unfinishedTurns: (turnIds) => deps.ledger.unfinishedTurns(turnIds),
    models: async (caller, signal) => await choosable(choice, caller, await deps.models.list(signal)),
    async *complete(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      yield* deps.agent.complete(caller, request, signal);
    },
    subscribe: (filter, listener) => deps.events.subscribe(filter, listener),
    replay: (key, lastEventId) => deps.events.replay(key, lastEventId),
    lastEventId: (key) => deps.events.lastEventId(key),
    async usage(caller, span, by) {
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
    },
    health: deps.health,
    metrics: deps.metrics,
    settings: deps.settings,
    administration: deps.administration,
  };
}

/** The token whose sessions the caller sees; undefined = all. */
function ownerOf(caller: Caller): string | undefined {
  return isAdmin(caller) ? undefined : caller.tokenId;
}

function deciderOf(caller: Caller): Decider {
  const { tokenId, proxyUser, name = 'the HTTP API' } = caller;
  const approves = hasScope(caller, 'approve');
  return { userId: `token:${tokenId}`, name: proxyUser ?? name, owner: isAdmin(caller), tokenId, approves };
}
