/** What model calls cost: as the server reports it, else estimated, because a local model is never free. */
import type { Ledger } from '../ledger.ts';
import { estimateTokens } from '../lib/tokens.ts';
import type { SessionKey } from '../message.ts';
import type { ChatChunk, ChatRequest, Usage } from '../provider.ts';
import type { ModelUsage } from '../usage.ts';
import type { TurnRows } from './turn-state.ts';

/** What was seen of a call from here. */
export interface SeenCall {
  /** The prompt's tokens, as estimated. */
  promptTokens: number;
  /** Everything the model said. */
  said: string;
  /** Milliseconds from its begin to its end. */
  ms: number;
}

/** Fills in what the server did not report; `told` is undefined for a call that broke before its end. */
export function reckonUsage(told: Usage | undefined, seen: SeenCall): Usage {
  const promptTokens = told?.promptTokens || Math.round(seen.promptTokens);
  const completionTokens = told?.completionTokens || estimateTokens(seen.said);
  const modelMs = told?.modelMs || Math.round(seen.ms);
  const estimated = promptTokens !== told?.promptTokens || completionTokens !== told.completionTokens;
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

/** Watches the chunks of one call. */
export interface CallMeter {
  see(chunk: ChatChunk): void;
  /** What it cost so far; undefined until the model has begun. */
  spent(): Usage | undefined;
}

/** Makes the meter of a call that began at `since`, by `performance.now()`. */
export function meterCall(
  request: ChatRequest,
  toolTokens: number,
  since: number = performance.now(),
): CallMeter {
  const parts: string[] = [];
  let told: Usage | undefined;
  let heard = false;
  return {
    see(chunk) {
      heard = true;
      if (chunk.type === 'done') told = chunk.usage;
      else parts.push(chunk.type === 'tool_call' ? JSON.stringify(chunk.call.args) : chunk.delta);
    },
    spent() {
      if (!heard) return undefined;
      const words = request.messages.map(({ content }) => content).join('');
      const promptTokens = estimateTokens(words) + toolTokens;
      return reckonUsage(told, { promptTokens, said: parts.join(''), ms: performance.now() - since });
    },
  };
}

/** Adds one usage to another. */
export function addUsage(sum: Usage, more: Usage): Usage {
  return {
    promptTokens: sum.promptTokens + more.promptTokens,
    completionTokens: sum.completionTokens + more.completionTokens,
    modelMs: sum.modelMs + more.modelMs,
    ...((sum.estimated || more.estimated) && { estimated: true }),
  };
}

/** Writes down what broken calls cost of a turn that is left here and taken up elsewhere: its end will not know. Throws `StoreError`. */
export async function noteBroken(ledger: Pick<Ledger, 'noteUsage'>, turn: BrokenCalls): Promise<void> {
  const { turnId, sessionKey: session, userId } = turn;
  for (const spent of turn.broken.splice(0)) {
    await ledger.noteUsage({ ...spent, purpose: 'turn', turnId, session, userId });
  }
}

interface BrokenCalls {
  turnId: string;
  sessionKey: SessionKey;
  userId: string;
  broken: ModelUsage[];
}

/**
 * What a turn's calls cost, by model: its answers, those from before a crash included, and its calls that broke.
 * `model` is that of answers which do not name theirs.
 */
export function usageOf(turn: {
  rows: TurnRows;
  broken: readonly ModelUsage[];
  model?: string | undefined;
}): ModelUsage[] {
  const sums = new Map<string, Usage>();
  const add = (model: string, usage: Usage): void => {
    const sum = sums.get(model);
    sums.set(model, sum === undefined ? usage : addUsage(sum, usage));
  };
  for (const entry of turn.rows.paidAnswers()) {
    if (entry.usage !== undefined) add(entry.model ?? turn.model ?? '', entry.usage);
  }
  for (const { model, ...usage } of turn.broken) add(model, usage);
  return [...sums].map(([model, usage]) => ({ ...usage, model }));
}
