/** One model call of the planner: no tools, low temperature, bounded, shown as thinking while it streams. */
import { ProviderError } from '../../protocol/errors.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatRequest, Usage } from '../../protocol/agent/provider.ts';
import { mergeGroups, toGroups } from '../prompt/history.ts';
import { systemPart } from '../prompt/system-prompt.ts';
import { fitPrompt, OVERFLOW_SHRINK } from '../prompt/context-window.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { completeText, type ShownCall } from '../model/complete-text.ts';
import { type Budgeting, type Calling, makePrompt } from '../model/model-budget.ts';
import type { TurnAttempt, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { addUsage } from '../state/unjournaled-usage.ts';

/** Low: planning needs the likely plan (N-28). */
export const PLANNING_TEMPERATURE = 0.3;
/** Tokens that one planning call may make, and never more than a quarter of the window. */
const PLANNING_TOKENS = 2_048;
/** Longest answer of one planning call that is read, thinking included, in UTF-16 units. */
export const MAX_PLANNING_CHARS = 24_000;

/** Usage before the first call. */
export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/** The parts of a turn, or of a subagent, that planning reads. */
export type Planning = TurnIdentity &
  TurnContext &
  Pick<TurnProgress, 'rows'> &
  Pick<TurnAttempt, 'signal' | 'waits'>;

export interface PlanningCall extends ShownCall {
  /** The instruction after the user's message. */
  instruction: string;
  /** The usage of the call is added to it. */
  spent: PlanningUsage;
}

/** Usage of planning so far, broken calls included. */
export interface PlanningUsage {
  usage: Usage;
}

/**
 * Returns the model's text and adds the usage to `spent`. A prompt that is refused as too long is retried once, shorter
 * (B-11); a model that cannot answer is replaced by the next of the profile. Throws `ProviderError`, `GatewayError`
 * (window), or the signal's reason.
 */
export async function askPlanner(
  shared: AgentShared,
  turn: Planning,
  call: PlanningCall,
  emit: Emit,
): Promise<string> {
  let most = Infinity;
  for (;;) {
    let made: PlanningRequest | undefined;
    try {
      made = await planningRequest(shared, turn, call.instruction, most);
      return await callOnce(shared, turn, call, made, emit);
    } catch (error) {
      turn.signal.throwIfAborted();
      const isTooLong = error instanceof ProviderError && error.code === 'context_overflow';
      if (shared.fallbacks.change(turn, { error, begun: false }, emit)) most = Infinity;
      else if (most === Infinity && isTooLong && made !== undefined)
        most = Math.floor(made.estimated * OVERFLOW_SHRINK);
      else throw error;
    }
  }
}

async function callOnce(
  shared: Pick<Calling, 'provider' | 'limits' | 'scale'>,
  { signal, waits }: Planning,
  { spent, msgId, title }: PlanningCall,
  { request, estimated }: PlanningRequest,
  emit: Emit,
): Promise<string> {
  const onUsage = (usage: Usage): void => {
    spent.usage = addUsage(spent.usage, usage);
    if (!usage.estimated) shared.scale.learn(request.model, estimated, usage.promptTokens);
  };
  const shown = { msgId, title };
  const maxChars = MAX_PLANNING_CHARS;
  return await completeText(shared, { request, signal, waits, maxChars, shown, onUsage }, emit);
}

interface PlanningRequest {
  request: ChatRequest;
  /** Tokens of the prompt, before they are scaled. */
  estimated: number;
}

/**
 * The request offers no tools, because a plan is made of words (N-28): its prompt therefore begins differently than those
 * of the conversation, and a server with one slot reads it whole. That is the price of a plan; no other call pays it.
 */
async function planningRequest(
  shared: Budgeting & Pick<AgentShared, 'environmentNoteOf'>,
  turn: Planning,
  instruction: string,
  most: number,
): Promise<PlanningRequest> {
  // Planning reserves its own answer length, whatever the profile reserves for its answers.
  const limit = { most, profile: { ...turn.profile, maxTokens: undefined } };
  return await makePrompt(shared, turn, limit, ({ model, can, contextWindow, budget }) => {
    const note = `${shared.environmentNoteOf(turn)}\n\n${instruction}`;
    const { messages, tokens } = fitPrompt(
      {
        system: systemPart(turn.prepared, turn.promptContext, can),
        history: turn.history,
        current: mergeGroups(toGroups([turn.rows.user], { thinking: false })),
        steps: [],
        note: { content: note, tokens: estimateTokens(note) },
      },
      budget,
    );
    const request: ChatRequest = {
      model,
      messages,
      contextWindow,
      userId: turn.userId,
      temperature: PLANNING_TEMPERATURE,
      maxTokens: Math.min(PLANNING_TOKENS, Math.floor(contextWindow / 4)),
      ...(can.thinking && { think: false }),
    };
    return { request, estimated: tokens };
  });
}
