/** The model of a turn and the size of its prompt: every call has the same window, so that the model is never reloaded. */
import type { Profile } from '../../contracts/agent/profile.ts';
import type { ModelCapabilities } from '../../contracts/model/provider.ts';
import { inputBudget, modelWindow } from '../prompt/context-window.ts';
import type { AgentShared } from '../deps.ts';

/** What the model of a call, and the room for its prompt, are found with. */
export type Budgeting = Pick<AgentShared, 'provider' | 'profiles' | 'models' | 'scale'>;

/** What such a call is made with: the same, and its time limits. */
export type Calling = Budgeting & Pick<AgentShared, 'limits'>;

export interface ModelBudget {
  model: string;
  can: ModelCapabilities;
  contextWindow: number;
  /** Room for prompt and tools, in estimated tokens. */
  budget: number;
}

/** Finds the model and its budget. `part` of the window is used; `profile` replaces the turn's own. Throws `ProviderError`. */
export async function modelBudget(
  shared: Budgeting,
  turn: { model?: string | undefined; profile: Profile; signal: AbortSignal },
  { part = 1, profile = turn.profile }: { part?: number; profile?: Profile } = {},
): Promise<ModelBudget> {
  const model = (turn.model ??= await shared.models.fallback(turn.signal));
  const can = await shared.provider.capabilities(model, turn.signal);
  const contextWindow = modelWindow(model, can, shared.profiles());
  const tokens = inputBudget(contextWindow, profile, 0) * part;
  return { model, can, contextWindow, budget: Math.floor(tokens / shared.scale.of(model)) };
}
