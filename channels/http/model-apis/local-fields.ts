/** Fields of front ends of local models: sampling as Ollama, llama-server and vLLM name it, and whether a model thinks. */
import { z } from 'zod';
import { type CallerOptions, REASONING_EFFORTS } from '../../../src/protocol/agent/provider.ts';
import { MAX_STOPS } from '../config.ts';
import { checkFields, type FieldTable, ignored, supported, refusedField } from './fields.ts';

/** Most tokens to generate; -1 = no limit, as LM Studio and llama-server take it. */
export const tokenLimit = z
  .int()
  .min(-1)
  .refine((limit) => limit !== 0, 'must be at least 1, or -1 for no limit')
  .nullish()
  .transform((limit) => (limit === -1 ? undefined : limit));

/** Texts that end an answer; empty ones end nothing. */
export const stopTexts = z
  .union(
    [z.string(), z.array(z.string()).max(MAX_STOPS)],
    `must be a text, or a list of at most ${MAX_STOPS}`,
  )
  .nullish()
  .transform((stop) => {
    const texts = [stop ?? []].flat().filter((text) => text !== '');
    return texts.length === 0 ? undefined : texts;
  });

/** The name of a model; the empty one is the default. */
export const modelName = z
  .string()
  .nullish()
  .transform((name) => (name === '' ? undefined : name));

const positive = z.number().min(0).nullish();
const penalty = z.number().min(-2).max(2).nullish();

/** Sampling that OpenAI's API does not have, by the names of Ollama, llama-server and vLLM. */
const samplingFields = z.object({
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  typical_p: z.number().min(0).max(1).nullish(),
  repeat_penalty: positive,
  repetition_penalty: positive,
  repeat_last_n: z.int().min(-1).nullish(),
  mirostat: z.int().min(0).max(2).nullish(),
  mirostat_tau: positive,
  mirostat_eta: positive,
});

/** Ollama's `options`: the loose rest is checked by `OPTION_FIELDS`. */
const ollamaOptions = z.looseObject({
  ...samplingFields.shape,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  seed: z.int().nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  // Ollama takes any negative number as no limit.
  num_predict: z.int().nullish(),
  stop: stopTexts,
});

const effort = z.enum(REASONING_EFFORTS).nullish();

/** The fields of a body that come from front ends of local models. */
export const localFields = z.object({
  ...samplingFields.shape,
  options: ollamaOptions.nullish(),
  /** Ollama's. */
  think: z.union([z.boolean(), z.enum(REASONING_EFFORTS)], 'must be true, false or an effort').nullish(),
  /** Of Qwen's own API. */
  enable_thinking: z.boolean().nullish(),
  /** Of Anthropic, GLM, Kimi and DeepSeek. */
  thinking: z.looseObject({ type: z.string() }).nullish(),
  /** Variables of the chat template, as llama-server and vLLM take them. */
  chat_template_kwargs: z
    .looseObject({
      enable_thinking: z.boolean().nullish(),
      thinking: z.boolean().nullish(),
      reasoning_effort: effort,
    })
    .nullish(),
});
type LocalBody = z.infer<typeof localFields>;

/** OpenRouter's `reasoning` of a chat completion. */
export const openRouterReasoning = z.looseObject({ effort, enabled: z.boolean().nullish() });

const fieldsNamed = (names: readonly string[], rule: FieldTable[string]): FieldTable =>
  Object.fromEntries(names.map((name) => [name, rule]));

/** The fields of `options`: how Ollama uses its machine is left to it, and the window is the gateway's to set. */
const OPTION_FIELDS: FieldTable = {
  ...fieldsNamed(Object.keys(ollamaOptions.shape), supported('as the field of that name')),
  ...fieldsNamed(
    [
      'num_ctx',
      'num_keep',
      'num_batch',
      'num_gpu',
      'main_gpu',
      'num_thread',
      'low_vram',
      'f16_kv',
      'use_mmap',
      'use_mlock',
      'numa',
      'vocab_only',
      'logits_all',
      'penalize_newline',
      'embedding_only',
    ],
    ignored('the server sets it'),
  ),
  tfs_z: refusedField('model servers no longer know it', 1),
};

/** The variables of a chat template that mean the same for every model. */
const TEMPLATE_FIELDS: FieldTable = fieldsNamed(
  ['enable_thinking', 'thinking', 'reasoning_effort'],
  supported('whether and how much the model thinks'),
);

/** What these fields ask of an answer; OpenAI's own fields take precedence. Throws `HttpError` 400. */
export function localOptions(body: LocalBody): CallerOptions {
  const { options, think, enable_thinking, thinking, chat_template_kwargs: template } = body;
  checkFields(options ?? {}, OPTION_FIELDS, 'options.');
  checkFields(template ?? {}, TEMPLATE_FIELDS, 'chat_template_kwargs.');
  const byType = thinking == null ? undefined : thinking.type !== 'disabled';
  const predicted = options?.num_predict ?? -1;
  return {
    ...withoutNothing({
      temperature: options?.temperature,
      topP: options?.top_p,
      seed: options?.seed,
      presencePenalty: options?.presence_penalty,
      frequencyPenalty: options?.frequency_penalty,
      maxTokens: predicted > 0 ? predicted : undefined,
      stop: options?.stop,
      think:
        typeof think === 'boolean'
          ? think
          : (enable_thinking ?? byType ?? template?.enable_thinking ?? template?.thinking),
      reasoningEffort: typeof think === 'string' ? think : template?.reasoning_effort,
    }),
    ...samplingOf(options ?? {}),
    ...samplingOf(body),
  };
}

function samplingOf(fields: z.infer<typeof samplingFields>): CallerOptions {
  return withoutNothing({
    topK: fields.top_k,
    minP: fields.min_p,
    typicalP: fields.typical_p,
    repeatPenalty: fields.repeat_penalty ?? fields.repetition_penalty,
    repeatLastN: fields.repeat_last_n,
    mirostat: fields.mirostat,
    mirostatTau: fields.mirostat_tau,
    mirostatEta: fields.mirostat_eta,
  });
}

/** The options without those that are left out or null. */
export function withoutNothing(options: {
  [Name in keyof CallerOptions]: CallerOptions[Name] | null;
}): CallerOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== null && value !== undefined),
  );
}
