/**
 * The tools of a `/v1/responses` request: functions, functions in namespaces, and those that OpenAI's own servers run, which
 * no one runs here.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ToolSchema } from '../../../../src/protocol/agent/provider.ts';
import { unsupported } from './fields.ts';
import { type Choice, functionSchema, invalid, nameSchema, toToolSchema } from './tool-fields.ts';

/** Tools besides functions, by their types in OpenAI's API (`Tool` of its npm package 7.59). */
const HOSTED = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'file_search',
  'image_generation',
  'code_interpreter',
  'mcp',
  'custom',
  'local_shell',
  'shell',
  'apply_patch',
  'computer',
  'computer_use_preview',
  'tool_search',
  'programmatic_tool_calling',
] as const;

const functionTool = z.object({
  type: z.literal('function'),
  ...functionSchema.shape,
  async: z.literal(false, 'is not supported').nullish(),
  /** Functions are offered at once, whether or not a search could find them. */
  defer_loading: z.boolean().nullish(),
});

/** As Codex groups its tools. */
const namespaceTool = z.object({
  type: z.literal('namespace'),
  name: nameSchema,
  tools: z.array(z.union([functionTool, z.looseObject({ type: z.enum(HOSTED) })])),
});

export const responseTool = z.discriminatedUnion(
  'type',
  [functionTool, namespaceTool, z.looseObject({ type: z.enum(HOSTED) })],
  'must be "function", "namespace" or a tool of OpenAI’s API',
);

const namedFunction = z.object({
  type: z.literal('function'),
  name: nameSchema,
  namespace: nameSchema.nullish(),
});
const hostedChoice = z.looseObject({ type: z.enum(HOSTED) });

export const responseChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    namedFunction,
    z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: z.array(z.union([namedFunction, hostedChoice])),
    }),
    hostedChoice,
  ],
  'must be none, auto, required, a function or allowed_tools',
);

/** A function by the names that its client uses. */
export interface FunctionName {
  name: string;
  namespace?: string | null | undefined;
}

/** The tools as the model sees them. */
export interface OfferedTools {
  schemas: ToolSchema[];
  /** Functions of namespaces by their names for the model. */
  names: ReadonlyMap<string, FunctionName>;
  /** Types of the tools that are not offered. */
  omitted: readonly string[];
}

/** Longest name of a function (`nameSchema`). */
const MAX_NAME = 64;

/** A function's name for the model: `namespace__name`, shortened with a digest where that is too long. */
export function modelName({ name, namespace }: FunctionName): string {
  if (namespace == null) return name;
  const joined = `${namespace}__${name}`;
  if (joined.length <= MAX_NAME) return joined;
  const digest = createHash('sha256').update(joined).digest('hex').slice(0, 8);
  return `${joined.slice(0, MAX_NAME - digest.length - 1)}_${digest}`;
}

/** The functions, those of namespaces among them, and what is left out. */
export function offeredTools(tools: readonly z.infer<typeof responseTool>[]): OfferedTools {
  const schemas: ToolSchema[] = [];
  const names = new Map<string, FunctionName>();
  const omitted = new Set<string>();
  for (const tool of tools) {
    const namespace = tool.type === 'namespace' ? tool.name : undefined;
    const members = tool.type === 'namespace' ? tool.tools : [tool];
    for (const member of members) {
      if (member.type !== 'function') {
        omitted.add(member.type);
        continue;
      }
      const schema = toToolSchema(member);
      const name = modelName({ name: schema.name, namespace });
      schemas.push({ ...schema, name });
      if (namespace !== undefined) names.set(name, { name: schema.name, namespace });
    }
  }
  return { schemas, names, omitted: [...omitted] };
}

/** The choice in the model's names. Throws `HttpError` 400 for one that requires a tool that is not offered. */
export function readChoice(
  choice: z.infer<typeof responseChoice> | null | undefined,
  { schemas, omitted }: OfferedTools,
): Choice {
  if (choice === 'required' && schemas.length === 0 && omitted.length > 0) throw notRun(omitted.join(', '));
  if (choice == null) return 'auto';
  if (typeof choice === 'string') return choice;
  if (choice.type === 'function') return { name: modelName(choice) };
  if (choice.type !== 'allowed_tools') throw notRun(choice.type);
  const functions = choice.tools.flatMap((tool) => (tool.type === 'function' ? [modelName(tool)] : []));
  if (functions.length === 0) {
    if (choice.tools.length === 0) throw invalid('tool_choice', 'it allows no tool');
    throw notRun(choice.tools.map(({ type }) => type).join(', '));
  }
  return { mode: choice.mode, names: functions };
}

function notRun(types: string) {
  return unsupported('tool_choice', `no tool of the type ${types} is run here`);
}
