/** The model of a turn and the size of its prompt: every call has the same window, so that the model is never reloaded. */
import { inputBudget, modelWindow, profileWindow } from '../prompt/context-window.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ChatMessage, ModelCapabilities } from '../../protocol/agent/provider.ts';
import { estimateTokens } from '../../lib/text.ts';
import { TOOL_SHARE } from '../prompt/tool-selection.ts';
import type { AgentShared } from '../deps.ts';

/** Estimated tokens of the texts of these messages. */
export function estimateMessages(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);
}

export interface ModelBudget {
  model: string;
  can: ModelCapabilities;
  contextWindow: number;
  /** Room for prompt and tools, in estimated tokens. */
  budget: number;
  /** What the definitions of tools may take of the window, in estimated tokens; the same for every call. */
  toolLimit: number;
}

/** How much of the room a prompt may fill: a part of it, and at most so many estimated tokens. */
export interface PromptLimit {
  part?: number;
  /** Less than a prompt that the server has refused as too long. */
  most?: number;
  /** Replaces the turn's own. */
  profile?: Profile;
}

/** The parts of a turn that a budget is found for; its model is noted there. */
type BudgetedTurn = { model?: string | undefined; profile: Profile; signal: AbortSignal };

/**
 * Makes a prompt for the model's budget. Where it does not fit, the window grows within what the server has, unless the
 * server has refused it: then it is as large as it gets. Throws `ProviderError`, and what `make` throws.
 */
export async function makePrompt<T>(
  shared: AgentShared,
  turn: BudgetedTurn,
  limit: PromptLimit,
  make: (available: ModelBudget) => T,
): Promise<T> {
  for (;;) {
    const available = await modelBudget(shared, turn, limit);
    try {
      return make(available);
    } catch (error) {
      const mayGrow = isTooSmall(error) && (limit.most ?? Infinity) === Infinity;
      const profile = limit.profile ?? turn.profile;
      if (!mayGrow || !shared.modelState.windows.grow(available.model, available.can, profile)) throw error;
    }
  }
}

/** True for a prompt that does not fit the window. */
export function isTooSmall(error: unknown): boolean {
  return error instanceof GatewayError && /^(window_too_small|message_too_large)$/.test(error.code);
}

/**
 * Finds the model and its budget. Throws `ProviderError`.
 */
export async function modelBudget(
  shared: AgentShared,
  turn: BudgetedTurn,
  { part = 1, profile = turn.profile, most = Infinity }: PromptLimit = {},
): Promise<ModelBudget> {
  const model = (turn.model ??= await shared.models.fallback(turn.signal));
  const can = await shared.provider.capabilities(model, turn.signal);
  const usual = shared.modelState.windows.of(model, can);
  const contextWindow = modelWindow(model, can, shared.profiles(), usual);
  const window = profileWindow(contextWindow, profile, usual);
  const room = Math.floor((inputBudget(window, profile, 0) * part) / shared.modelState.scale.of(model));
  const toolLimit = Math.floor(window * TOOL_SHARE);
  return { model, can, contextWindow, budget: Math.min(room, most), toolLimit };
}
