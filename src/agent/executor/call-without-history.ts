/** A plain call of the model beside the conversation: its own system prompt, no persona, no history, no tools (S-14). */
import { clipMiddle } from '../../lib/text.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatMessage, ChatRequest, Usage } from '../../contracts/provider.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { completeText } from '../model/complete-text.ts';
import type { ShownCall } from '../model/complete-text.ts';
import { modelBudget } from '../model/model-budget.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Decisions want the likely answer, not a surprising one. */
const TEMPERATURE = 0.2;
/** Tokens one call may make, and never more than a quarter of the window. */
const MAX_TOKENS = 1_024;
/** Longest answer that is read, thinking included, in UTF-16 units. */
const MAX_CHARS = 16_000;
/** Largest part of the input budget that a call fills: token counts are estimates. */
const FILL = 0.9;

/** The question to the model. */
export interface PlainQuestion {
  system: string;
  messages: readonly ChatMessage[];
  signal: AbortSignal;
  /** Undefined = people see nothing of it. */
  shown?: ShownCall | undefined;
}

/**
 * Gives what the model said. A message too long for the window keeps its head and tail. What it cost is counted to the
 * turn. `emit` gets what people see of it, and that it waits; unset = nothing. Throws `ProviderError`, or the signal's reason.
 */
export async function callWithoutHistory(
  shared: AgentShared,
  turn: TurnIdentity & TurnContext & Pick<TurnProgress, 'costs'>,
  call: PlainQuestion,
  emit: Emit = () => undefined,
): Promise<string> {
  const { model, can, contextWindow, budget } = await modelBudget(
    shared,
    { ...turn, signal: call.signal },
    { part: FILL, profile: { ...turn.profile, maxTokens: undefined } },
  );
  const request: ChatRequest = {
    model,
    messages: [
      { role: 'system', content: call.system },
      ...fitted(call.messages, budget - estimateTokens(call.system)),
    ],
    contextWindow,
    sessionKey: turn.sessionKey,
    temperature: TEMPERATURE,
    maxTokens: Math.min(MAX_TOKENS, Math.floor(contextWindow / 4)),
    ...(can.thinking && { think: false }),
  };
  const { signal, shown } = call;
  const paid = (usage: Usage): void => turn.costs.add({ ...usage, model });
  return await completeText(shared, { request, signal, maxChars: MAX_CHARS, shown, paid }, emit);
}

/** Clips messages to equal shares of a budget in tokens. */
function fitted(messages: readonly ChatMessage[], budget: number): ChatMessage[] {
  const share = Math.max(1, budget / Math.max(1, messages.length));
  return messages.map((message) => {
    const tokens = estimateTokens(message.content);
    if (tokens <= share) return message;
    return {
      ...message,
      content: clipMiddle(message.content, Math.floor((message.content.length * share) / tokens)),
    };
  });
}
