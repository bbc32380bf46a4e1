/** The agent: what the composition root wires and what channels may ask of it. */
import type { Caller } from '../protocol/access.ts';
import type { CallerOptions, ChatChunk, DescribedModel, EmbedRequest } from '../protocol/agent/provider.ts';
import type { LaneHandler } from '../protocol/bus.ts';
import type { GatewayApi, StatelessRequest } from '../protocol/gateway-api.ts';
import type { SessionRecord } from '../protocol/store/records.ts';
import { commonTools, PLAN_TOOL, type Profile } from '../protocol/agent/profile.ts';
import { createSubagentHandler } from './background-subagents.ts';
import { createCompressor } from './after-turn/compressor.ts';
import { createTokenScale, ModelWindows } from './prompt/context-window.ts';
import {
  type AgentDeps,
  type AgentShared,
  type CurrentShared,
  DEFAULT_LIMITS,
  followSettings,
} from './deps.ts';
import { createAfterTurn } from './after-turn/after-turn.ts';
import { createFactsWorker } from './after-turn/facts-worker.ts';
import { createTitleWorker } from './after-turn/title-worker.ts';
import { escalateUntil } from './turn/escalation.ts';
import { checkCall } from './tools/tool-run.ts';
import { createTurnHandler } from './turn/turn-handler.ts';
import { createBootstrapFiles, noBootstrapPrompt } from './prompt/bootstrap-files.ts';
import { OmissionNotices, SmallWindowNotices } from './model/notices.ts';
import { createPreparation } from './prompt/prepared-profile.ts';
import { createReplays } from './replay/replay.ts';
import { ToolLists } from './replay/tool-lists.ts';
import { createEnvironmentNote } from './prompt/environment-note.ts';
import { refuseUnsupported } from './model/caller-options.ts';
import { estimateTokens } from '../lib/text.ts';
import { withPictures } from './model/seen-pictures.ts';
import { completeStateless } from './model/stateless-completion.ts';
import { classifyFor, type StepCommand } from './plans/edits.ts';
import type { CheckArgs } from '../protocol/agent/approvals.ts';
import type { ToolRisk } from '../protocol/agent/risk.ts';
import type { Replays } from '../protocol/agent/replays.ts';
import { NOT_FOR_SUBAGENTS } from '../protocol/agent/subagents.ts';
import type { Tool } from '../protocol/agent/tool.ts';

/** Longest wait for a model server to describe a model, in milliseconds. */
const DESCRIBE_MS = 2_000;

/** What a request names instead of the session's own. */
interface ModelChoice {
  profileId?: string;
  model?: string;
}

export interface Agent {
  /** Runs the heads of `in:` lanes. */
  turns: LaneHandler;
  /** Runs the heads of `agent:` lanes. */
  subagents: LaneHandler;
  /** A completion without a session. It ends when the caller stops reading or `signal` aborts. Throws `GatewayError`. */
  complete(caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  /** Turns again on other models, and judges of their answers. */
  replays: Replays;
  /** Vectors of texts, for a caller whose usage is stored. Throws `ProviderError`, `GatewayError('unknown_model')`, `StoreError`. */
  embed: GatewayApi['embed'];
  /**
   * Throws `FieldError` for an option that the model of the choice, else of the session, cannot honour; also
   * `ProviderError`, `GatewayError('unknown_profile')`.
   */
  checkOptions(
    asked: { session: SessionRecord | undefined; choice: ModelChoice; options: CallerOptions },
    signal: AbortSignal,
  ): Promise<void>;
  /** The model of the choice, and what it can do. Throws `ProviderError`, `GatewayError('unknown_profile')`. */
  describeModel(choice: ModelChoice, signal: AbortSignal): Promise<DescribedModel>;
  /** The model of the choice, else of the session, and whether it can call tools; undefined while its server does not answer. Never throws. */
  modelOf(
    session: SessionRecord | undefined,
    choice?: ModelChoice,
  ): Promise<{ model: string; tools: boolean } | undefined>;
  /** The risk of a plan's step under a profile (S-17). Never throws. */
  classifyStep(profileId: string | undefined, step: StepCommand): ToolRisk;
  checkArgs: CheckArgs;
  /** Asks owners in their own chats for what no one decides, until the signal aborts. Never throws. */
  escalate(signal: AbortSignal): Promise<void>;
  /** Ends the work after turns. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Creates the agent. Tool schemas are built here, system prompts at the first use of a profile; neither is built per turn. */
export function createAgent(deps: AgentDeps): Agent {
  const shared = sharedBy({ ...deps, provider: withPictures(deps.provider, deps.media.pictures) });
  const compressor = createCompressor(shared);
  const afterTurn = createAfterTurn(
    [
      compressor.worker,
      createFactsWorker(shared, (session) => compressor.takeCompacted(session)),
      createTitleWorker(shared),
    ],
    (session, event) => shared.chats.events.emit(session, event),
    () => shared.settings.current().afterTurn,
  );
  const offering = (allow: (tool: Tool) => boolean): CurrentShared =>
    followSettings({ ...shared, prompts: { ...shared.prompts, prepare: createPreparation(shared, allow) } });
  const pure = offering(({ effect }) => effect === 'pure');
  const planned = followSettings(shared);
  const unplanned = offering(({ name }) => name !== PLAN_TOOL);
  const modelNameOf = async (
    session: SessionRecord | undefined,
    choice: ModelChoice,
    signal: AbortSignal,
  ): Promise<string> => {
    const profile = shared.models.profile(choice.profileId ?? session?.profileId);
    const model = choice.model ?? session?.model ?? profile.model;
    return model ?? (await shared.models.fallback(signal));
  };
  return {
    turns: createTurnHandler({ planned, unplanned }, { compressor, afterTurn }),
    subagents: createSubagentHandler(planned),
    complete: (caller, request, signal) => completeStateless(pure(), caller, request, signal),
    replays: createReplays(planned),
    embed: createEmbed(shared),
    async checkOptions({ session, choice, options }, signal) {
      const model = await modelNameOf(session, choice, signal);
      refuseUnsupported(model, await shared.provider.capabilities(model, signal), options);
    },
    async describeModel(choice, signal) {
      const name = await modelNameOf(undefined, choice, signal);
      return { name, capabilities: await shared.provider.capabilities(name, signal) };
    },
    modelOf: (session, choice = {}) =>
      describeOrNot(shared, (signal) => modelNameOf(session, choice, signal)),
    classifyStep: (profileId, step) =>
      classifyFor(shared.prompts.prepare(shared.models.profile(profileId)).tools)(step),
    checkArgs: createArgsCheck(() => shared.tools()),
    escalate: (signal) => escalateUntil(planned, signal),
    close: () => afterTurn.close(),
  };
}

/** A model and whether it can call tools; undefined while its server does not answer. Never throws. */
async function describeOrNot(
  { provider, log }: AgentShared,
  nameOf: (signal: AbortSignal) => Promise<string>,
): Promise<{ model: string; tools: boolean } | undefined> {
  const signal = AbortSignal.timeout(DESCRIBE_MS);
  try {
    const model = await nameOf(signal);
    const { tools } = await provider.capabilities(model, signal);
    return { model, tools };
  } catch (error) {
    log.info({ err: error }, 'model_not_described');
    return undefined;
  }
}

/** Checks arguments that a person has changed as those of a model are checked. */
function createArgsCheck(tools: AgentDeps['tools']): CheckArgs {
  return (name, args) => {
    const byName = new Map(tools().map((tool) => [tool.name, tool]));
    const checked = checkCall({ id: '', name, args }, byName);
    return 'refusal' in checked ? checked.refusal.content : undefined;
  };
}

/** What all turns of the agent share. */
function sharedBy(deps: AgentDeps): AgentShared {
  const { workspaceDir, log } = deps;
  const { limits, timeZone } = deps.settings.current();
  return {
    ...deps,
    limits: { ...DEFAULT_LIMITS, ...limits },
    modelState: {
      scale: createTokenScale(),
      windows: new ModelWindows(),
      fallbacks: deps.models.fallbacks,
      smallWindow: new SmallWindowNotices(),
      omissionNotices: new OmissionNotices(),
      toolLists: new ToolLists(),
    },
    prompts: {
      bootstrapPrompt:
        workspaceDir === undefined ? noBootstrapPrompt : createBootstrapFiles(workspaceDir, log),
      environmentNoteOf: createEnvironmentNote(deps.environmentNote, timeZone),
      prepare: createPreparation(deps),
      forSubagent: createSubagentProfiles(),
    },
  };
}

/** The tools of a subagent: `subagentTools` of the profile, else `enabledTools`, without those that the parent lacks (N-11, B-32). */
function subagentTools(profile: Profile, parents: ReadonlySet<string>): string[] {
  const requested = profile.subagentTools.length > 0 ? profile.subagentTools : profile.enabledTools;
  return commonTools(requested, parents).filter((name) => !NOT_FOR_SUBAGENTS.includes(name));
}

/**
 * Makes the function that returns the profile of a subagent. It is the same object each time, so that what is prepared
 * for it is cached as long as the profile lives.
 */
function createSubagentProfiles(): (profile: Profile, parents: ReadonlySet<string>) => Profile {
  const profiles = new WeakMap<Profile, Map<string, Profile>>();
  return (profile, parents) => {
    const enabledTools = subagentTools(profile, parents);
    const byTools = profiles.get(profile) ?? new Map<string, Profile>();
    profiles.set(profile, byTools);
    const key = enabledTools.join();
    const existing = byTools.get(key);
    if (existing !== undefined) return existing;
    const subagentProfile: Profile = {
      ...profile,
      enabledTools,
      systemPrompt: profile.subagentSystemPrompt,
      maxIterations: profile.subagentMaxIterations,
      planningEnabled: profile.subagentPlanningEnabled,
    };
    byTools.set(key, subagentProfile);
    return subagentProfile;
  };
}

/** Makes the function; where the server reports no usage, it is estimated. */
function createEmbed({ stores: { ledger }, embed, models, budgets }: AgentShared): GatewayApi['embed'] {
  return async ({ tokenId }: Caller, request: EmbedRequest, signal: AbortSignal) => {
    const userId = `token:${tokenId}`;
    const resolved = await models.resolve(request.model, signal, 'vectors');
    const profile = models.profile(resolved.profileId);
    const model = resolved.model ?? profile.model ?? (await models.fallback(signal));
    const estimated = { promptTokens: estimateTokens(request.input.join('')), completionTokens: 0 };
    const spender = { person: userId, profile: profile.id };
    return await budgets.within(spender, { model, ...estimated }, async (holder) => {
      const startedAt = performance.now();
      const { vectors, promptTokens: reported } = await embed({ ...request, model, userId }, signal);
      const promptTokens = reported || estimated.promptTokens;
      const usage = {
        promptTokens,
        completionTokens: 0,
        modelMs: Math.round(performance.now() - startedAt),
        ...(reported === 0 && { estimated: true as const }),
      };
      await ledger.noteUsage({ purpose: 'stateless', tokenId, userId, holder, ...usage, model });
      return { vectors, promptTokens };
    });
  };
}
