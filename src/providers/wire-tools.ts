/** The tools of a request as model servers read them: prepared once per list, because lists are made once per profile. */
import type { ChatRequest, ToolSchema } from '../protocol/agent/provider.ts';
import { wireSchema } from '../lib/json/wire-schema.ts';

/** A tool in the form that OpenAI's API and Ollama's share. */
export interface WireTool {
  type: 'function';
  function: Omit<ToolSchema, 'server'>;
}

/** By the list of tools, and the form of their schemas. */
const prepared = new WeakMap<readonly ToolSchema[], Map<string, WireTool[]>>();

/**
 * Undefined without any. `knowsStrict`: the server can promise to follow a schema, so those of strict tools stay as they
 * are. Never throws.
 */
export function toWireTools(
  { tools = [], reducedSchemas: reduced = false }: Pick<ChatRequest, 'tools' | 'reducedSchemas'>,
  { knowsStrict }: { knowsStrict: boolean },
): WireTool[] | undefined {
  if (tools.length === 0) return undefined;
  const forms = prepared.get(tools) ?? new Map<string, WireTool[]>();
  prepared.set(tools, forms);
  const form = `${reduced} ${knowsStrict}`;
  const wired =
    forms.get(form) ??
    tools.map(({ name, description, parameters: original, strict }): WireTool => {
      const tool = { name, description, parameters: original };
      if (strict === true && knowsStrict && !reduced)
        return { type: 'function', function: { ...tool, strict } };
      return {
        type: 'function',
        function: { ...tool, parameters: wireSchema(original, { reduced }).schema },
      };
    });
  forms.set(form, wired);
  return wired;
}
