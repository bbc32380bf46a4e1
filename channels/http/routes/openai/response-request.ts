/** The body of `POST /v1/responses`, in the gateway's terms. */
import { z } from 'zod';
import { REASONING_EFFORTS } from '../../../../src/contracts/model/provider.ts';
import type { AnswerFormat, CallerOptions } from '../../../../src/contracts/model/provider.ts';
import { endUserSchema } from '../end-user.ts';
import { checkFields, unsupported } from './fields.ts';
import type { FieldTable } from './fields.ts';
import { localFields, localOptions, modelName, tokenLimit, withoutNothing } from './local-fields.ts';
import { MAX_MESSAGES } from '../../config.ts';
import { inputItem } from './response-input.ts';
import {
  functionSchema,
  nameSchema,
  schemaFormat,
  toFormat,
  toolOptions,
  toToolSchema,
} from './tool-fields.ts';
import type { Choice } from './tool-fields.ts';

const toolSchema = z.object({
  type: z.literal('function', 'must be "function": other tools are not there'),
  ...functionSchema.shape,
  async: z.literal(false, 'is not supported').nullish(),
  defer_loading: z.literal(false, 'is not supported').nullish(),
});
const named = z.object({ type: z.literal('function'), name: nameSchema });
const choiceSchema = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    named,
    z.object({ type: z.literal('allowed_tools'), mode: z.enum(['auto', 'required']), tools: z.array(named) }),
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
  tools: z.array(toolSchema).nullish(),
  tool_choice: choiceSchema.nullish(),
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

/** The fields of `reasoning`. */
const REASONING_FIELDS: FieldTable = {
  effort: { use: 'honoured', note: 'for models that think' },
  summary: { use: 'harmless', note: 'the reasoning itself is given' },
  generate_summary: { use: 'harmless', note: 'the reasoning itself is given' },
  context: { use: 'refused', note: 'the server decides', unless: ['auto'] },
  mode: { use: 'refused', note: 'there is one mode', unless: ['standard'] },
};
/** The fields of `text`. */
const TEXT_FIELDS: FieldTable = {
  format: { use: 'honoured', note: 'the answer is checked' },
  verbosity: { use: 'refused', note: 'no model server knows it', unless: ['medium'] },
};

/** What the body asks of the answer; `gatewayTools` is what the header asks for. Throws `HttpError` 400. */
export function responseOptions(body: ResponseBody, gatewayTools: boolean): CallerOptions {
  checkFields(body.reasoning ?? {}, REASONING_FIELDS, 'reasoning.');
  checkFields(body.text ?? {}, TEXT_FIELDS, 'text.');
  if (body.include?.includes('message.output_text.logprobs') === true) {
    throw unsupported('include', 'for likelihoods use /v1/chat/completions');
  }
  const tools = (body.tools ?? []).map(toToolSchema);
  const options = withoutNothing({
    temperature: body.temperature,
    topP: body.top_p,
    maxTokens: body.max_output_tokens,
    reasoningEffort: body.reasoning?.effort,
    format: formatOf(body.text),
    parallelToolCalls: body.parallel_tool_calls,
    ...toolOptions(tools, choiceOf(body.tool_choice), gatewayTools),
  });
  return { ...localOptions(body), ...options };
}

function formatOf(text: ResponseBody['text']): AnswerFormat | undefined {
  const format = text?.format;
  if (format == null || format.type === 'text') return undefined;
  return format.type === 'json_object' ? format : toFormat(format);
}

function choiceOf(choice: ResponseBody['tool_choice']): Choice {
  if (choice == null) return 'auto';
  if (typeof choice === 'string') return choice;
  if (choice.type === 'function') return { name: choice.name };
  return { mode: choice.mode, names: choice.tools.map(({ name }) => name) };
}
