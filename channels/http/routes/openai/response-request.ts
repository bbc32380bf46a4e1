/** The body of `POST /v1/responses`, in the gateway's terms. */
import { z } from 'zod';
import {
  type AnswerFormat,
  type CallerOptions,
  REASONING_EFFORTS,
} from '../../../../src/protocol/agent/provider.ts';
import { endUserSchema } from '../end-user.ts';
import { checkFields, type FieldTable, unsupported } from './fields.ts';
import { localFields, localOptions, modelName, tokenLimit, withoutNothing } from './local-fields.ts';
import { MAX_MESSAGES } from '../../config.ts';
import { inputItem } from './response-input.ts';
import { type OfferedTools, readChoice, responseChoice, responseTool } from './response-tools.ts';
import { schemaFormat, toFormat, toolOptions } from './tool-fields.ts';

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

/**
 * What the body asks of the answer, apart from its tools the ones that are offered; `gatewayTools` is what the header asks
 * for. Throws `HttpError` 400.
 */
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
