/** A model call outside the conversation: its own system prompt, no persona, no history, no tools (S-14). */
import { clipMiddle } from '../../lib/text.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatMessage, ChatRequest, Usage } from '../../protocol/agent/provider.ts';
import type { Emit } from '../deps.ts';
import { completeText, type ShownCall } from '../model/complete-text.ts';
import { type Calling, modelBudget } from '../model/model-budget.ts';
import type { TurnAttempt, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Low: decisions need the likely answer. */
const TEMPERATURE = 0.2;
/** Tokens one call may make, and never more than a quarter of the window. */
const MAX_TOKENS = 1_024;
/** Longest answer that is read, thinking included, in UTF-16 units. */
const MAX_CHARS = 16_000;
/** Largest part of the input budget that a call fills: token counts are estimates. */
const FILL = 0.9;

/** The parts of a turn that a call outside its conversation reads and changes. */
export type CallingTurn = Pick<TurnIdentity, 'userId'> &
  Pick<TurnContext, 'profile' | 'model'> &
  Pick<TurnProgress, 'otherUsage'> &
  Pick<TurnAttempt, 'waits'>;

/** The question to the model. */
export interface PlainQuestion {
  system: string;
  messages: readonly ChatMessage[];
  signal: AbortSignal;
  /** Undefined = the call is not shown. */
  shown?: ShownCall | undefined;
}

/**
 * Returns the model's text. A message too long for the window keeps its head and tail. The usage is added to the turn.
 * `emit` gets the events of a shown call and the notice that it waits in a queue. Throws `ProviderError`, or the signal's reason.
 */
export async function callWithoutHistory(
  shared: Calling,
  turn: CallingTurn,
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
    userId: turn.userId,
    temperature: TEMPERATURE,
    maxTokens: Math.min(MAX_TOKENS, Math.floor(contextWindow / 4)),
    ...(can.thinking && { think: false }),
  };
  const { signal, shown } = call;
  const onUsage = (usage: Usage): void => turn.otherUsage.add({ ...usage, model });
  return await completeText(
    shared,
    { request, signal, waits: turn.waits, maxChars: MAX_CHARS, shown, onUsage },
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
