/** The room's door: what the roof wires and what the doors may ask of the agent. */
import type { Caller } from '../contracts/access.ts';
import type { LaneHandler } from '../contracts/bus.ts';
import type { StatelessRequest } from '../contracts/gateway-api.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { ChatChunk } from '../contracts/provider.ts';
import { createRunHandler } from './subagents/background.ts';
import { createCompressor } from './compression/compressor.ts';
import { createTokenScale } from './prompt/context-window.ts';
import { DEFAULT_LIMITS } from './deps.ts';
import type { AgentDeps, AgentShared } from './deps.ts';
import type { Models } from './model/models.ts';
import { createTurnHandler } from './turn/turn-handler.ts';
import { createBootstrapFiles, noBootstrapPrompt } from './prompt/bootstrap-files.ts';
import { createModels } from './model/models.ts';
import { createPreparation } from './prompt/prepared-profile.ts';
import { completeStateless } from './model/stateless-completion.ts';
import { createSubagentProfiles } from './subagents/subagent-profile.ts';

export interface Agent {
  /** Runs the heads of `in:` lanes. */
  turns: LaneHandler;
  /** Runs the heads of `agent:` lanes. */
  subagents: LaneHandler;
  /** A completion without a session; ending the reading, or `signal`, ends it. Throws `GatewayError`. */
  complete(caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  /** `default`, the profile ids, then the server's models. Throws `ProviderError`. */
  models(signal: AbortSignal): Promise<string[]>;
  /** The model that answers in sessions of a profile that name none, or why there is none. Never throws. */
  defaultModel(profileId?: string): Promise<string>;
  /** What a request's `model` means. Throws `GatewayError('unknown_model')`, `ProviderError` when the server is away. */
  resolveModel(model: string, signal: AbortSignal): Promise<{ profileId?: string; model?: string }>;
  /** As `Models.checkProfile`. */
  checkProfile(id: string, signal: AbortSignal): Promise<void>;
  /** Ends what it does beside the turns. Never throws; twice is fine. */
  close(): Promise<void>;
}

/** Makes the agent. Tool schemas are made here, prompts at a profile's first use; nothing is made per turn. */
export function createAgent(deps: AgentDeps): Agent {
  const parts: Omit<AgentShared, 'compressor'> = {
    deps,
    limits: { ...DEFAULT_LIMITS, ...deps.limits },
    models: createModels(deps),
    scale: createTokenScale(),
    bootstrapPrompt:
      deps.workspaceDir === undefined ? noBootstrapPrompt : createBootstrapFiles(deps.workspaceDir, deps.log),
    prepare: createPreparation(deps.tools),
    forSubagent: createSubagentProfiles(),
  };
  const shared: AgentShared = { ...parts, compressor: createCompressor(parts) };
  const pure = { ...shared, prepare: createPreparation(deps.tools, (tool) => tool.effect === 'pure') };
  return {
    turns: createTurnHandler(shared),
    subagents: createRunHandler(shared),
    complete: (caller, request, signal) => completeStateless(pure, caller, request, signal),
    models: (signal) => shared.models.list(signal),
    defaultModel: (profileId) => nameModel(shared.models, profileId),
    resolveModel: (model, signal) => shared.models.resolve(model, signal),
    checkProfile: (id, signal) => shared.models.checkProfile(id, signal),
    close: () => shared.compressor.close(),
  };
}

/** How long `/status` waits for the model server to name its models, in milliseconds. */
const MODEL_NAMED_MS = 2_000;

async function nameModel(models: Models, profileId: string | undefined): Promise<string> {
  try {
    return models.profile(profileId).model ?? (await models.fallback(AbortSignal.timeout(MODEL_NAMED_MS)));
  } catch (error) {
    return `none; ${toGatewayError(error).message}`;
  }
}
