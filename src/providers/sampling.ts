/** The options of a call that have the same names for every kind of server. */
import type { ChatRequest } from '../protocol/agent/provider.ts';

/** How tokens are chosen, and which texts end the answer: llama.cpp's names, which Ollama and llama-server share. */
export interface WireSampling {
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  typical_p?: number;
  repeat_penalty?: number;
  repeat_last_n?: number;
  mirostat?: number;
  mirostat_tau?: number;
  mirostat_eta?: number;
  seed?: number;
  stop?: string[];
  presence_penalty?: number;
  frequency_penalty?: number;
}

/** Only what was requested: many servers reject unknown fields. */
export function samplingOf(request: ChatRequest): WireSampling {
  const sampling: { [Name in keyof WireSampling]: WireSampling[Name] | undefined } = {
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    min_p: request.minP,
    typical_p: request.typicalP,
    repeat_penalty: request.repeatPenalty,
    repeat_last_n: request.repeatLastN,
    mirostat: request.mirostat,
    mirostat_tau: request.mirostatTau,
    mirostat_eta: request.mirostatEta,
    seed: request.seed,
    stop: request.stop,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
  };
  return Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined));
}
