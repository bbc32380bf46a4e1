/** A model call outside the conversation: its own system prompt, no persona, no history, no tools (S-14). */
import { clipMiddle, estimateTokens } from '../../lib/text.ts';
import type { ChatMessage, ChatRequest, Usage } from '../../protocol/agent/provider.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { holdCall } from '../model/hold-call.ts';
import { completeText, type ShownCall } from '../model/model-call.ts';
import { estimateMessages, modelBudget } from '../model/model-budget.ts';
import type { Turn } from '../turn/turn-state.ts';

/** Low: decisions need the likely answer. */
const TEMPERATURE = 0.2;
/** Tokens one call may make, and never more than a quarter of the window. */
const MAX_TOKENS = 1_024;
/** Longest answer that is read, thinking included, in UTF-16 units. */
const MAX_CHARS = 16_000;
/** Largest part of the input budget that a call fills: token counts are estimates. */
const FILL = 0.9;

/**
 * Returns the model's text; without `display` the call is not shown. A message too long for the window keeps its head
 * and tail. The usage is added to the turn. `emit` gets the events of a shown call and the notice that it waits in a queue. Throws `ProviderError`, what `holdCall` throws, or
 * the signal's reason.
 */
export async function callWithoutHistory(
  shared: AgentShared,
  turn: Turn,
  system: string,
  messages: readonly ChatMessage[],
  { signal, display }: { signal: AbortSignal; display?: ShownCall },
  emit: Emit = () => undefined,
): Promise<string> {
  const { model, can, contextWindow, budget } = await modelBudget(
    shared,
    { ...turn, signal },
    { part: FILL, profile: { ...turn.profile, maxTokens: undefined } },
  );
  const request: ChatRequest = {
    model,
    messages: [{ role: 'system', content: system }, ...fitted(messages, budget - estimateTokens(system))],
    contextWindow,
    userId: turn.userId,
    temperature: TEMPERATURE,
    maxTokens: Math.min(MAX_TOKENS, Math.floor(contextWindow / 4)),
    ...(can.thinking && { think: false }),
  };
  const promptTokens = estimateMessages(request.messages);
  await holdCall(shared, turn, request, promptTokens, emit);
  const onUsage = (usage: Usage): void => turn.otherUsage.add({ ...usage, model });
  return await completeText(
    shared,
    { request, signal, waits: turn.waits, say: turn.say, maxChars: MAX_CHARS, display, onUsage },
    emit,
  );
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
