/** The model of a turn and the size of its prompt: every call has the same window, so that the model is never reloaded. */
import type { Profile } from '../../contracts/agent/profile.ts';
import type { ModelCapabilities } from '../../contracts/model/provider.ts';
import { inputBudget, modelWindow, profileWindow } from '../prompt/context-window.ts';
import { TOOL_SHARE } from '../prompt/tool-selection.ts';
import type { AgentShared } from '../deps.ts';

/** What the model of a call, and the room for its prompt, are found with. */
export type Budgeting = Pick<AgentShared, 'provider' | 'profiles' | 'models' | 'scale' | 'windows'>;

/** What such a call is made with: the same, and its time limits. */
export type Calling = Budgeting & Pick<AgentShared, 'limits'>;

export interface ModelBudget {
  model: string;
  can: ModelCapabilities;
  contextWindow: number;
  /** Room for prompt and tools, in estimated tokens. */
  budget: number;
  /** What the definitions of tools may take of the window, in estimated tokens; the same for every call. */
  toolLimit: number;
}

/**
 * Finds the model and its budget. `part` of the room is used, and `most` tokens; `profile` replaces the turn's own. Throws
 * `ProviderError`.
 */
export async function modelBudget(
  shared: Budgeting,
  turn: { model?: string | undefined; profile: Profile; signal: AbortSignal },
  {
    part = 1,
    profile = turn.profile,
    most = Infinity,
  }: { part?: number; profile?: Profile; most?: number } = {},
): Promise<ModelBudget> {
  const model = (turn.model ??= await shared.models.fallback(turn.signal));
  const can = await shared.provider.capabilities(model, turn.signal);
  const usual = shared.windows.of(model, can);
  const contextWindow = modelWindow(model, can, shared.profiles(), usual);
  const own = profileWindow(contextWindow, profile, usual);
  const room = Math.floor((inputBudget(own, profile, 0) * part) / shared.scale.of(model));
  const toolLimit = Math.floor(own * TOOL_SHARE);
  return { model, can, contextWindow, budget: Math.min(room, most), toolLimit };
}
