/** Usage of one model call: as the server reports it, else estimated, because a local model is never free. */
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatChunk, ChatRequest, Usage } from '../../contracts/provider.ts';

/** Observations of a call on this side. */
export interface SeenCall {
  /** The prompt's tokens, as estimated. */
  promptTokens: number;
  /** Everything the model said. */
  said: string;
  /** Milliseconds from its begin to its end. */
  ms: number;
}

/** Fills in what the server did not report; `reported` is undefined for a call that broke before its end. */
export function completeUsage(reported: Usage | undefined, seen: SeenCall): Usage {
  const promptTokens = reported?.promptTokens || Math.round(seen.promptTokens);
  const completionTokens = reported?.completionTokens || estimateTokens(seen.said);
  const modelMs = reported?.modelMs || Math.round(seen.ms);
  const estimated = promptTokens !== reported?.promptTokens || completionTokens !== reported.completionTokens;
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

/** Watches the chunks of one call. */
export interface CallMeter {
  see(chunk: ChatChunk): void;
  /** Cost so far; undefined until the model has begun. */
  spent(): Usage | undefined;
}

/** Makes the meter of a call that began at `since`, by `performance.now()`. */
export function meterCall(
  request: ChatRequest,
  toolTokens: number,
  since: number = performance.now(),
): CallMeter {
  const parts: string[] = [];
  let reported: Usage | undefined;
  let heard = false;
  return {
    see(chunk) {
      heard = true;
      if (chunk.type === 'done') reported = chunk.usage;
      else parts.push(chunk.type === 'tool_call' ? JSON.stringify(chunk.call.args) : chunk.delta);
    },
    spent() {
      if (!heard) return undefined;
      const words = request.messages.map(({ content }) => content).join('');
      const promptTokens = estimateTokens(words) + toolTokens;
      return completeUsage(reported, { promptTokens, said: parts.join(''), ms: performance.now() - since });
    },
  };
}
