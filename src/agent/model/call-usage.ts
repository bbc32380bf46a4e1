/** Usage of one model call: as the server reports it, else estimated, because a local model is never free. */
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatChunk, ChatRequest, Usage } from '../../protocol/agent/provider.ts';

/** A call as this side saw it. */
export interface ObservedCall {
  /** The prompt's tokens, as estimated. */
  promptTokens: number;
  /** Everything the model generated: thinking, text and tool calls. */
  output: string;
  /** Milliseconds from its start to its end. */
  ms: number;
}

/** Fills in what the server did not report; `reported` is undefined for a call that broke before its end. */
export function completeUsage(reported: Usage | undefined, observed: ObservedCall): Usage {
  const promptTokens = reported?.promptTokens || Math.round(observed.promptTokens);
  const completionTokens = reported?.completionTokens || estimateTokens(observed.output);
  const modelMs = reported?.modelMs || Math.round(observed.ms);
  const estimated = promptTokens !== reported?.promptTokens || completionTokens !== reported.completionTokens;
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

/** Measures the usage of one call. */
export interface CallMeter {
  add(chunk: ChatChunk): void;
  /** Usage so far of a call that started at `startedAt`, by `performance.now()`; undefined until its first chunk. */
  usage(startedAt: number): Usage | undefined;
}

/** Makes the meter of a call. `toolTokens` are those of the tool schemas in the request. */
export function meterCall(request: ChatRequest, toolTokens: number): CallMeter {
  const output: string[] = [];
  let reported: Usage | undefined;
  let begun = false;
  return {
    add(chunk) {
      begun = true;
      if (chunk.type === 'done') reported = chunk.usage;
      else if (chunk.type === 'tool_call') output.push(JSON.stringify(chunk.call.args));
      else if (chunk.type !== 'text_was_thinking') output.push(chunk.delta);
    },
    usage(startedAt) {
      if (!begun) return undefined;
      const prompt = request.messages.map(({ content }) => content).join('');
      return completeUsage(reported, {
        promptTokens: estimateTokens(prompt) + toolTokens,
        output: output.join(''),
        ms: performance.now() - startedAt,
      });
    },
  };
}
