/** The body of `POST /v1/responses`, in the gateway's terms. */
import { z } from 'zod';
import {
  type AnswerFormat,
  type CallerOptions,
  REASONING_EFFORTS,
  type ToolSchema,
} from '../../../src/protocol/agent/provider.ts';
import { MAX_MESSAGES } from '../config.ts';
import { endUserSchema } from '../inbound.ts';
import {
  checkFields,
  type FieldTable,
  ignored,
  supported,
  invalid,
  refusedField,
  unsupported,
} from './fields.ts';
import { localFields, localOptions, modelName, tokenLimit, withoutNothing } from './local-fields.ts';
import { type FunctionName, inputItem, nameForModel } from './response-input.ts';
import {
  type Choice,
  functionSchema,
  nameSchema,
  schemaFormat,
  toFormat,
  toolOptions,
  toToolSchema,
} from './tool-fields.ts';

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

const responseTool = z.discriminatedUnion(
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

const responseChoice = z.union(
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

/** Fields beyond these have no effect: the table of fields knows which they are. */
export const responseSchema = z.object({
  ...localFields.shape,
  model: modelName,
  // Counted before each is checked, as in completions.
  input: z
    .custom<unknown>(
      (input) => !Array.isArray(input) || input.length <= MAX_MESSAGES,
      `at most ${MAX_MESSAGES} items are accepted`,
    )
    .pipe(z.union([z.string(), z.array(inputItem).min(1, 'at least one item is needed')])),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  user: endUserSchema,
  previous_response_id: z.string().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_output_tokens: tokenLimit,
  parallel_tool_calls: z.boolean().nullish(),
  store: z.boolean().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  tools: z.array(responseTool).nullish(),
  tool_choice: responseChoice.nullish(),
  include: z.array(z.string()).nullish(),
  reasoning: z.looseObject({ effort: z.enum(REASONING_EFFORTS).nullish() }).nullish(),
  text: z
    .looseObject({
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('text') }),
          z.object({ type: z.literal('json_object') }),
          schemaFormat.extend({ type: z.literal('json_schema') }),
        ])
        .nullish(),
    })
    .nullish(),
});

/** A body that passed the schema. */
export type ResponseBody = z.infer<typeof responseSchema>;

const REASONING_FIELDS: FieldTable = {
  effort: supported('for models that think'),
  summary: ignored('the reasoning itself is given'),
  generate_summary: ignored('the reasoning itself is given'),
  context: refusedField('the server decides', 'auto'),
  mode: refusedField('there is one mode', 'standard'),
};
const TEXT_FIELDS: FieldTable = {
  format: supported('the answer is checked'),
  verbosity: refusedField('no model server knows it', 'medium'),
};

/** What the body asks of the answer; `gatewayTools` is what the header asks for. Throws `HttpError` 400. */
export function responseOptions(
  body: ResponseBody,
  tools: OfferedTools,
  gatewayTools: boolean,
): CallerOptions {
  checkFields(body.reasoning ?? {}, REASONING_FIELDS, 'reasoning.');
  checkFields(body.text ?? {}, TEXT_FIELDS, 'text.');
  if (body.include?.includes('message.output_text.logprobs') === true) {
    throw unsupported('include', 'for likelihoods use /v1/chat/completions');
  }
  const options = withoutNothing({
    temperature: body.temperature,
    topP: body.top_p,
    maxTokens: body.max_output_tokens,
    reasoningEffort: body.reasoning?.effort,
    format: formatOf(body.text),
    parallelToolCalls: body.parallel_tool_calls,
    ...toolOptions(tools.schemas, readChoice(body.tool_choice, tools), gatewayTools),
  });
  return { ...localOptions(body), ...options };
}

function formatOf(text: ResponseBody['text']): AnswerFormat | undefined {
  const format = text?.format;
  if (format == null || format.type === 'text') return undefined;
  return format.type === 'json_object' ? format : toFormat(format);
}

interface OfferedTools {
  schemas: ToolSchema[];
  /** Functions of namespaces by their names for the model. */
  names: ReadonlyMap<string, FunctionName>;
  omitted: readonly string[];
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
      const name = nameForModel({ name: schema.name, namespace });
      schemas.push({ ...schema, name });
      if (namespace !== undefined) names.set(name, { name: schema.name, namespace });
    }
  }
  return { schemas, names, omitted: [...omitted] };
}

/** The choice in the model's names. Throws `HttpError` 400 for one that requires a tool that is not offered. */
function readChoice(
  choice: z.infer<typeof responseChoice> | null | undefined,
  { schemas, omitted }: OfferedTools,
): Choice {
  if (choice === 'required' && schemas.length === 0 && omitted.length > 0) throw notRun(omitted.join(', '));
  if (choice == null) return 'auto';
  if (typeof choice === 'string') return choice;
  if (choice.type === 'function') return { name: nameForModel(choice) };
  if (choice.type !== 'allowed_tools') throw notRun(choice.type);
  const functions = choice.tools.flatMap((tool) => (tool.type === 'function' ? [nameForModel(tool)] : []));
  if (functions.length === 0) {
    if (choice.tools.length === 0) throw invalid('tool_choice', 'it allows no tool');
    throw notRun(choice.tools.map(({ type }) => type).join(', '));
  }
  return { mode: choice.mode, names: functions };
}

function notRun(types: string) {
  return unsupported('tool_choice', `no tool of the type ${types} is run here`);
}
