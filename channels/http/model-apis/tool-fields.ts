/** The fields about tools and the form of answers that OpenAI's two routes share, checked and in the gateway's terms. */
import { z } from 'zod';
import type { AnswerFormat, CallerOptions, ToolSchema } from '../../../src/protocol/agent/provider.ts';
import { MAX_TOOLS } from '../config.ts';
import type { HttpError } from '../errors.ts';
import { invalid, unsupported } from './fields.ts';

/** A name of a function or a schema, as OpenAI allows it. */
export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z, a-z, 0-9, "_", "-"');

/** A function that the caller runs. */
export const functionSchema = z.object({
  name: nameSchema,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

/** A JSON Schema that an answer must match. */
export const schemaFormat = z.object({
  name: nameSchema,
  description: z.string().nullish(),
  schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
});

/** The choice of tools, in either of its two forms. */
export type Choice =
  | 'none'
  | 'auto'
  | 'required'
  | { name: string }
  | { mode: 'auto' | 'required'; names: string[] };

/** The function as the model sees it. */
export function toToolSchema(func: z.infer<typeof functionSchema>): ToolSchema {
  const { name, description, parameters, strict } = func;
  return {
    name,
    description: description ?? '',
    parameters: { type: 'object', properties: {}, ...parameters },
    ...(strict === true && { strict }),
  };
}

/** The form of the answer. */
export function toFormat({ name, description, schema, strict }: z.infer<typeof schemaFormat>): AnswerFormat {
  return {
    type: 'json_schema',
    name,
    schema,
    ...(typeof description === 'string' && { description }),
    ...(typeof strict === 'boolean' && { strict }),
  };
}

/** The tools and the choice among them: the caller's, else the gateway's; `none` offers none. Throws `HttpError` 400. */
export function toolOptions(
  tools: readonly ToolSchema[],
  choice: Choice,
  gatewayTools: boolean,
): CallerOptions {
  if (tools.length > MAX_TOOLS) throw invalid('tools', `at most ${MAX_TOOLS} are accepted`);
  if (new Set(tools.map(({ name }) => name)).size < tools.length) {
    throw invalid('tools', 'two of them have the same name');
  }
  if (choice === 'none') return { tools: [] };
  const offered =
    typeof choice === 'object' && 'names' in choice
      ? tools.filter(({ name }) => choice.names.includes(name))
      : tools;
  const options = offered.length === 0 ? {} : { tools: [...offered], ...(gatewayTools && { gatewayTools }) };
  if (choice === 'auto') return options;
  if (typeof choice === 'object' && 'names' in choice && offered.length === 0) throw noSuchTool();
  const mode = typeof choice === 'object' && 'names' in choice ? choice.mode : choice;
  if (mode === 'auto') return options;
  if (tools.length === 0) throw unsupported('tool_choice', 'it needs tools');
  if (typeof mode === 'object' && !tools.some(({ name }) => name === mode.name)) throw noSuchTool();
  return { ...options, toolChoice: mode };
}

function noSuchTool(): HttpError {
  return invalid('tool_choice', 'it names a tool that is not in "tools"');
}
