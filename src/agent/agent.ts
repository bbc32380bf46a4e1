/** The agent: what the composition root wires and what channels may ask of it. */
import type { Caller } from '../protocol/access.ts';
import type { CallerOptions, ChatChunk, DescribedModel } from '../protocol/agent/provider.ts';
import type { LaneHandler } from '../protocol/bus.ts';
import type { GatewayApi, StatelessRequest } from '../protocol/gateway-api.ts';
import type { SessionRecord } from '../protocol/store/records.ts';
import { PLAN_TOOL } from '../protocol/agent/profile.ts';
import { KeyedLock } from '../lib/async/keyed-lock.ts';
import { createSubagentHandler } from './subagents/background.ts';
import { createCompressor } from './compression/compressor.ts';
import { createTokenScale } from './prompt/context-window.ts';
import { type AgentDeps, type AgentShared, DEFAULT_LIMITS } from './deps.ts';
import { createAfterTurn } from './turn/after-turn.ts';
import { createFactsWorker } from './facts/facts-worker.ts';
import { createTitleWorker } from './title/title-worker.ts';
import { createTurnHandler } from './turn/turn-handler.ts';
import { createBootstrapFiles, noBootstrapPrompt } from './prompt/bootstrap-files.ts';
import { SmallWindowNotices } from './prompt/small-window.ts';
import { createPreparation } from './prompt/prepared-profile.ts';
import { createEnvironmentNote } from './prompt/environment-note.ts';
import { refuseUnsupported } from './model/caller-options.ts';
import { createEmbed } from './model/embed.ts';
import { OmissionNotices } from './model/omission-notices.ts';
import { withPictures } from './model/seen-pictures.ts';
import { ModelWindows } from './model/model-windows.ts';
import { completeStateless } from './model/stateless-completion.ts';
import { classifyFor, type StepCommand } from './executor/edits.ts';
import type { ToolRisk } from '../protocol/agent/risk.ts';
import { createSubagentProfiles } from './subagents/subagent-profile.ts';
import { followSettings } from './turn-settings.ts';

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
  /** Ends the work after turns. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Creates the agent. Tool schemas are built here, system prompts at the first use of a profile; neither is built per turn. */
export function createAgent(given: AgentDeps): Agent {
  const shared = sharedBy({ ...given, provider: withPictures(given.provider, given.pictures) });
  const compressor = createCompressor(shared);
  const afterTurn = createAfterTurn(
    [
      compressor.worker,
      createFactsWorker(shared, (session) => compressor.takeCompacted(session)),
      createTitleWorker(shared),
    ],
    shared.events,
    () => shared.settings().afterTurn,
  );
  const unplanned = { ...shared, prepare: createPreparation(shared, ({ name }) => name !== PLAN_TOOL) };
  const pure = followSettings({
    ...shared,
    prepare: createPreparation(shared, (tool) => tool.effect === 'pure'),
  });
  const now = { planned: followSettings(shared), unplanned: followSettings(unplanned) };
  const modelNameOf = async (
    session: SessionRecord | undefined,
    choice: ModelChoice,
    signal: AbortSignal,
  ): Promise<string> => {
    const profile = shared.models.profile(choice.profileId ?? session?.profileId);
    const named = choice.model ?? session?.model ?? profile.model;
    return named ?? (await shared.models.fallback(signal));
  };
  return {
    turns: createTurnHandler(now, { compressor, afterTurn }),
    subagents: createSubagentHandler(now.planned),
    complete: (caller, request, signal) => completeStateless(pure(), caller, request, signal),
    embed: createEmbed({ provider: shared.embedder, models: shared.models, ledger: shared.ledger }),
    async checkOptions({ session, choice, options }, signal) {
      const model = await modelNameOf(session, choice, signal);
      refuseUnsupported(model, await shared.provider.capabilities(model, signal), options);
    },
    async describeModel(choice, signal) {
      const name = await modelNameOf(undefined, choice, signal);
      return { name, capabilities: await shared.provider.capabilities(name, signal) };
    },
    async modelOf(session, choice = {}) {
      const signal = AbortSignal.timeout(DESCRIBE_MS);
      try {
        const model = await modelNameOf(session, choice, signal);
        const { tools } = await shared.provider.capabilities(model, signal);
        return { model, tools };
      } catch (error) {
        shared.log.info({ err: error }, 'model_not_described');
        return undefined;
      }
    },
    classifyStep: (profileId, step) =>
      classifyFor(shared.prepare(shared.models.profile(profileId)).tools)(step),
    close: () => afterTurn.close(),
  };
}

/** What all turns of the agent share. */
function sharedBy(deps: AgentDeps): AgentShared {
  return {
    ...deps,
    limits: { ...DEFAULT_LIMITS, ...deps.settings().limits },
    scale: createTokenScale(),
    windows: new ModelWindows(),
    smallWindow: new SmallWindowNotices(),
    fallbacks: deps.models.fallbacks,
    omissionNotices: new OmissionNotices(),
    fileLock: new KeyedLock(),
    bootstrapPrompt:
      deps.workspaceDir === undefined ? noBootstrapPrompt : createBootstrapFiles(deps.workspaceDir, deps.log),
    environmentNoteOf: createEnvironmentNote({ ...deps.environmentNote, timeZone: deps.settings().timeZone }),
    prepare: createPreparation(deps),
    forSubagent: createSubagentProfiles(),
  };
}
