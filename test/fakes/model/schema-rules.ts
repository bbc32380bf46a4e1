/** Which tool schemas model servers refuse, and how. */
import { z } from 'zod';
import type { ServerRule } from './strict-server.ts';

/**
 * Ollama's structs (ollama/ollama api/types.go: ToolFunctionParameters, ToolProperty, PropertyType); Go ignores fields that
 * it does not know, and null leaves a field as it is.
 */
const ollamaProperty: z.ZodType = z.looseObject({
  anyOf: z.array(z.lazy(() => ollamaProperty)).nullish(),
  type: z.union([z.string(), z.array(z.string())]).nullish(),
  items: z.unknown().optional(),
  description: z.string().nullish(),
  enum: z.array(z.unknown()).nullish(),
  properties: z
    .record(
      z.string(),
      z.lazy(() => ollamaProperty),
    )
    .nullish(),
  required: z.array(z.string()).nullish(),
});
const ollamaParameters = z.looseObject({
  type: z.string(),
  properties: z.record(z.string(), ollamaProperty).nullish(),
  required: z.array(z.string()).nullish(),
});

/** The types for which llama.cpp has rules (common/json-schema-to-grammar.cpp, PRIMITIVE_RULES). */
const GRAMMAR_TYPES = new Set(['boolean', 'number', 'integer', 'object', 'array', 'string', 'null']);
/** src/llama-grammar.cpp: MAX_REPETITION_THRESHOLD. */
const MAX_REPETITIONS = 2_000;

/**
 * What llama.cpp's grammar does not take, of the keywords that it reads (common/json-schema-to-grammar.cpp, visit):
 * undefined when it takes it.
 */
function grammarProblem(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'a schema is an object';
  const fields: Record<string, unknown> = { ...schema };
  for (const refused of ['$ref', 'pattern', 'format', 'allOf', 'oneOf', 'const']) {
    if (refused in fields) return `"${refused}" is not sent`;
  }
  // An empty schema is an object there, though it means any value.
  if (Object.keys(fields).length === 0) return 'an empty schema';
  const { type, anyOf, items, properties, additionalProperties: others } = fields;
  if (Array.isArray(anyOf)) {
    if (anyOf.length === 0) return 'no alternatives';
    return firstProblem(anyOf);
  }
  if (Array.isArray(fields['enum'])) return fields['enum'].length === 0 ? 'no choices' : undefined;
  if (type !== undefined && (typeof type !== 'string' || !GRAMMAR_TYPES.has(type)))
    return `type ${JSON.stringify(type)}`;
  for (const counted of ['maxItems', 'maxLength', 'minItems', 'minLength']) {
    const count = fields[counted];
    if (count !== undefined && (typeof count !== 'number' || count >= MAX_REPETITIONS)) return `"${counted}"`;
  }
  // OpenAI and Gemini: "array schema missing items".
  if (type === 'array' && items === undefined) return 'an array without items';
  const inner = [
    ...(items === undefined ? [] : [items]),
    ...(typeof properties === 'object' && properties !== null ? Object.values(properties) : []),
    ...(typeof others === 'object' && others !== null ? [others] : []),
  ];
  return firstProblem(inner);
}

function firstProblem(schemas: readonly unknown[]): string | undefined {
  for (const schema of schemas) {
    const problem = grammarProblem(schema);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Why Ollama or llama.cpp would refuse the schema of a tool; undefined when both take it. */
export function serverProblem(schema: unknown): string | undefined {
  const read = ollamaParameters.safeParse(schema);
  if (!read.success) return `Ollama: ${read.error.message}`;
  const problem = grammarProblem(schema);
  return problem === undefined ? undefined : `llama.cpp: ${problem}`;
}

const wireTools = z.array(z.looseObject({ function: z.looseObject({ parameters: z.unknown() }) }));

function schemasOf(tools: unknown): unknown[] {
  return wireTools.parse(tools ?? []).map((tool) => tool.function.parameters);
}

/** Ollama: every call with such a tool is refused (NousResearch/hermes-agent#15032). */
export const ollamaSchemas: ServerRule = ({ tools }) => {
  const bad = schemasOf(tools).some((schema) => !ollamaParameters.safeParse(schema).success);
  const error =
    'json: cannot unmarshal bool into Go struct field ToolFunctionParameters.tools.function.parameters.properties of type api.ToolProperty';
  return bad ? { status: 400, body: { error } } : undefined;
};

/** llama-server: a pattern that its grammar cannot follow (ggml-org/llama.cpp common/json-schema-to-grammar.cpp, _visit_pattern). */
export const llamaSchemas: ServerRule = ({ tools }) => {
  const problem = firstProblem(schemasOf(tools));
  if (problem === undefined) return undefined;
  return {
    status: 400,
    body: {
      error: { code: 400, message: `failed to parse grammar: ${problem}`, type: 'invalid_request_error' },
    },
  };
};
