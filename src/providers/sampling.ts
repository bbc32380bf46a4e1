/** The options of a call that have the same names for every kind of server. */
import type { ChatRequest } from '../contracts/model/provider.ts';

/** How tokens are chosen, and which texts end the answer. */
export interface WireSampling {
  temperature?: number;
  top_p?: number;
  seed?: number;
  stop?: string[];
  presence_penalty?: number;
  frequency_penalty?: number;
}

/** Only what was requested: many servers reject unknown fields. */
export function samplingOf(request: ChatRequest): WireSampling {
  const { temperature, topP, seed, stop, presencePenalty, frequencyPenalty } = request;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(seed !== undefined && { seed }),
    ...(stop !== undefined && { stop }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
  };
}
