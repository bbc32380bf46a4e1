/** The agent: what the composition root wires and what channels may ask of it. */
import type { Caller } from '../contracts/access.ts';
import type { LaneHandler } from '../contracts/bus.ts';
import type { StatelessRequest } from '../contracts/gateway-api.ts';
import type { ChatChunk } from '../contracts/provider.ts';
import { createSubagentHandler } from './subagents/background.ts';
import { createCompressor } from './compression/compressor.ts';
import { createTokenScale } from './prompt/context-window.ts';
import { DEFAULT_LIMITS } from './deps.ts';
import type { AgentDeps, AgentShared } from './deps.ts';
import { createAfterTurn } from './turn/after-turn.ts';
import { createTurnHandler } from './turn/turn-handler.ts';
import { createBootstrapFiles, noBootstrapPrompt } from './prompt/bootstrap-files.ts';
import { createPreparation } from './prompt/prepared-profile.ts';
import { completeStateless } from './model/stateless-completion.ts';
import { createSubagentProfiles } from './subagents/subagent-profile.ts';

export interface Agent {
  /** Runs the heads of `in:` lanes. */
  turns: LaneHandler;
  /** Runs the heads of `agent:` lanes. */
  subagents: LaneHandler;
  /** A completion without a session. It ends when the caller stops reading or `signal` aborts. Throws `GatewayError`. */
  complete(caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk>;
  /** Ends the work after turns. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Creates the agent. Tool schemas are built here, system prompts at the first use of a profile; neither is built per turn. */
export function createAgent(deps: AgentDeps): Agent {
  const shared: AgentShared = {
    deps,
    limits: { ...DEFAULT_LIMITS, ...deps.limits },
    models: deps.models,
    scale: createTokenScale(),
    bootstrapPrompt:
      deps.workspaceDir === undefined ? noBootstrapPrompt : createBootstrapFiles(deps.workspaceDir, deps.log),
    prepare: createPreparation(deps.tools),
    forSubagent: createSubagentProfiles(),
  };
  const compressor = createCompressor(shared);
  const afterTurn = createAfterTurn([compressor.worker], deps.events);
  const pure = { ...shared, prepare: createPreparation(deps.tools, (tool) => tool.effect === 'pure') };
  return {
    turns: createTurnHandler(shared, { compressor, afterTurn }),
    subagents: createSubagentHandler(shared),
    complete: (caller, request, signal) => completeStateless(pure, caller, request, signal),
    close: () => afterTurn.close(),
  };
}
