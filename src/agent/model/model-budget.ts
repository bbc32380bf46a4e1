/** Which model answers a turn, and how much it can read: the same window for every call, so that it is never reloaded. */
import type { Profile } from '../../contracts/profile.ts';
import type { ModelCapabilities } from '../../contracts/provider.ts';
import { inputBudget, modelWindow } from '../prompt/context-window.ts';
import type { AgentShared } from '../deps.ts';

export interface ModelBudget {
  model: string;
  can: ModelCapabilities;
  contextWindow: number;
  /** Room for prompt and tools, in estimated tokens. */
  budget: number;
}

/** `part` of the window is used; `profile` stands in for the turn's own. Throws `ProviderError`. */
export async function modelBudget(
  shared: Pick<AgentShared, 'deps' | 'models' | 'scale'>,
  turn: { model?: string | undefined; profile: Profile; signal: AbortSignal },
  { part = 1, profile = turn.profile }: { part?: number; profile?: Profile } = {},
): Promise<ModelBudget> {
  const model = (turn.model ??= await shared.models.fallback(turn.signal));
  const can = await shared.deps.provider.capabilities(model, turn.signal);
  const contextWindow = modelWindow(model, can, shared.deps.profiles());
  const real = inputBudget(contextWindow, profile, 0) * part;
  return { model, can, contextWindow, budget: Math.floor(real / shared.scale.of(model)) };
}
