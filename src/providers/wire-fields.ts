/** The tools of a request as model servers read them: prepared once per list, because lists are made once per profile. */
import type { ChatRequest, ToolSchema } from '../protocol/agent/provider.ts';
import { wireSchema } from '../lib/json/wire-schema.ts';

/** A tool in the form that OpenAI's API and Ollama's share. */
interface WireTool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown>; strict?: true };
}

/** By the list of tools, and the form of their schemas. */
const prepared = new WeakMap<readonly ToolSchema[], Map<string, WireTool[]>>();

/** Undefined without tools. `knowsStrict`: the server follows schemas of strict tools, which stay. Never throws. */
export function toWireTools(
  { tools = [], reducedSchemas: reduced = false }: ChatRequest,
  knowsStrict: boolean,
): WireTool[] | undefined {
  if (tools.length === 0) return undefined;
  const forms = prepared.get(tools) ?? new Map<string, WireTool[]>();
  prepared.set(tools, forms);
  const form = `${reduced} ${knowsStrict}`;
  const wired =
    forms.get(form) ??
    tools.map(({ name, description, parameters: original, strict }): WireTool => {
      if (strict === true && knowsStrict && !reduced)
        return { type: 'function', function: { name, description, parameters: original, strict } };
      const parameters = wireSchema(original, { reduced }).schema;
      return { type: 'function', function: { name, description, parameters } };
    });
  forms.set(form, wired);
  return wired;
}

/**
 * How tokens are chosen and answers end, in llama.cpp's names, which Ollama shares. What was not requested is not sent:
 * many servers reject unknown fields.
 */
export function samplingOf(request: ChatRequest) {
  return {
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
}
