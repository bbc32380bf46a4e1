/** Every field of OpenAI's requests: one that changes the answer is supported or refused by name, and one that does not is ignored. */
import { HttpError } from '../errors.ts';

/** `unless` are values of a refused field that ask for what happens anyway. */
export type FieldRule =
  | { use: 'supported'; note: string }
  | { use: 'ignored'; note: string }
  | { use: 'refused'; note: string; unless?: readonly unknown[] };

/** The fields of one route by name; any other field is refused. */
export type FieldTable = Readonly<Record<string, FieldRule>>;

/** A field that has its effect. */
export const supported = (note = 'passed on to the model server'): FieldRule => ({ use: 'supported', note });
/** A field that is ignored, because it changes no answer. */
export const ignored = (note: string): FieldRule => ({ use: 'ignored', note });
/** A field that is an error, except with values that ask for what happens anyway. */
export const refusedField = (note: string, ...unless: unknown[]): FieldRule => ({
  use: 'refused',
  note,
  unless,
});

/** Fields of accounting, caching and logging, which OpenAI's routes share. */
const SHARED = {
  metadata: ignored('nothing is stored for it'),
  moderation: refusedField('there is no moderation'),
  prompt_cache_key: ignored('model servers cache automatically'),
  prompt_cache_options: ignored('model servers cache automatically'),
  prompt_cache_retention: ignored('model servers cache automatically'),
  safety_identifier: ignored('the token is the identity'),
  service_tier: ignored('there is one tier'),
} satisfies FieldTable;

/** Fields of Ollama, llama-server, vLLM, OpenRouter and their front ends, which both routes take. */
const LOCAL = {
  top_k: supported('where the model server knows it'),
  min_p: supported('where the model server knows it'),
  typical_p: supported('where the model server knows it'),
  repeat_penalty: supported('where the model server knows it'),
  repetition_penalty: supported('another name of repeat_penalty'),
  repeat_last_n: supported('where the model server knows it'),
  mirostat: supported('where the model server knows it'),
  mirostat_tau: supported('with mirostat'),
  mirostat_eta: supported('with mirostat'),
  options: supported(
    'Ollama’s: sampling, `num_predict` and `stop`; what describes its machine has no effect',
  ),
  think: supported('whether a model that can think does; an effort like reasoning_effort'),
  enable_thinking: supported('another name of think'),
  thinking: supported('`{"type": "enabled"}` or `{"type": "disabled"}`, like think'),
  chat_template_kwargs: supported(
    '`enable_thinking`, `thinking` and `reasoning_effort`; other variables are refused',
  ),
  keep_alive: ignored('the model server decides how long a model stays loaded'),
  cache_prompt: ignored('model servers cache automatically'),
  id_slot: ignored('the model server chooses its slot'),
  include_reasoning: ignored('reasoning is a field of its own'),
  usage: ignored('it is always counted'),
  provider: ignored('the gateway chooses the server'),
  transforms: ignored('nothing is left out of the middle of a conversation'),
  route: ignored('the profile says which model answers instead'),
  client_metadata: ignored('nothing is stored for it'),
  tfs_z: refusedField('model servers no longer know it', 1),
  top_a: refusedField('no model server knows it', 0),
} satisfies FieldTable;

/** `POST /v1/chat/completions`. */
export const COMPLETION_FIELDS: FieldTable = {
  ...SHARED,
  ...LOCAL,
  messages: supported(
    'in a session the last message, or the tool results at the end, and the system messages; the user’s parts may be files',
  ),
  model: supported('`default`, a profile, or a model'),
  audio: refusedField('answers are text'),
  frequency_penalty: supported(),
  function_call: refusedField('use tool_choice'),
  functions: refusedField('use tools'),
  logit_bias: supported('where the model server knows it, else 400'),
  logprobs: supported('without a session, where the model server tells them, else 400'),
  max_completion_tokens: supported(),
  max_tokens: supported('the older name of max_completion_tokens'),
  modalities: refusedField('answers are text', ['text']),
  n: refusedField('there is one answer', 1),
  parallel_tool_calls: supported('`false` keeps the first call of an answer'),
  prediction: ignored('it only saves time'),
  presence_penalty: supported(),
  reasoning: supported('OpenRouter’s: `effort` like reasoning_effort, `enabled` like think'),
  reasoning_effort: supported('for models that think, else 400'),
  response_format: supported('the answer is checked; one that does not match is an error'),
  seed: supported(),
  stop: supported(),
  store: ignored('a session is what is stored'),
  stream: supported('server-sent events'),
  stream_options: supported('`include_usage`'),
  temperature: supported(),
  tool_choice: supported('also where the model server knows none'),
  tools: supported('functions only'),
  top_logprobs: supported('with logprobs'),
  top_p: supported(),
  user: supported('the end user'),
  verbosity: refusedField('no model server knows it', 'medium'),
  web_search_options: refusedField('the tool web_search of a profile does that'),
  mode: supported('the gateway’s own: with a session, how a plan is followed'),
  chat_id: ignored('Open WebUI’s own'),
  session_id: ignored('Open WebUI’s own; the header X-Session-Id names a session'),
};

/** `POST /v1/responses`. */
export const RESPONSE_FIELDS: FieldTable = {
  ...SHARED,
  ...LOCAL,
  metadata: ignored('it is repeated in the response'),
  access_programs: refusedField('there are none'),
  background: refusedField('use a session: its turn continues without you', false),
  context_management: refusedField('a session does that automatically', []),
  conversation: refusedField('use the header X-Session-Id'),
  image: refusedField('answers are text'),
  include: ignored('what it names is not there, or there in any case; likelihoods are refused'),
  input: supported(
    'text, files of the user, function calls and their outputs, references to stored items; in a session what is new',
  ),
  instructions: supported('in a session they follow the prompt of its profile'),
  max_output_tokens: supported(),
  max_tool_calls: refusedField('it counts tools that OpenAI runs'),
  model: supported('`default`, a profile, or a model'),
  parallel_tool_calls: supported('`false` keeps the first call of an answer'),
  previous_response_id: supported('a stored response; with a session, its newest one, else 400'),
  prompt: refusedField('no prompts are stored'),
  reasoning: supported('`effort`, for models that think, else 400'),
  store: supported('`false`: its ids and those of its items cannot be used later'),
  stream: supported('server-sent events'),
  stream_options: ignored('nothing is obfuscated'),
  temperature: supported(),
  text: supported('`format`; the answer is checked; one that does not match is an error'),
  tool_choice: supported(
    'also where the model server knows none; 400 if it requires a tool that is left out',
  ),
  tools: supported(
    'functions, also in namespaces; what OpenAI’s servers run is left out and named in X-Omitted-Tools',
  ),
  top_logprobs: refusedField('use /v1/chat/completions', 0),
  top_p: supported(),
  truncation: refusedField(
    'a session shortens its history automatically; without one nothing is cut',
    'disabled',
  ),
  user: supported('the end user'),
};

/** `POST /v1/embeddings`. */
export const EMBEDDING_FIELDS: FieldTable = {
  input: supported('a text or a list of texts'),
  model: supported('a model that makes vectors'),
  dimensions: supported('for models that can shorten their vectors'),
  encoding_format: supported('`float` or `base64`'),
  user: ignored('nothing is remembered'),
};

/** Throws `HttpError` 400 for the first field that is unknown or refused; null counts as left out. `within`: their place. */
export function checkFields(body: Readonly<Record<string, unknown>>, table: FieldTable, within = ''): void {
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue;
    const rule = Object.hasOwn(table, name) ? table[name] : undefined;
    if (rule === undefined) {
      const fieldName = within + name.slice(0, MAX_SHOWN_NAME).toWellFormed();
      throw new HttpError(
        400,
        'unknown_field',
        `"${fieldName}" is not a field of this route: leave it out.`,
        { param: fieldName },
      );
    }
    if (rule.use === 'refused' && !isHarmless(rule, value)) throw unsupported(within + name, rule.note);
  }
}

const MAX_SHOWN_NAME = 80;

function isHarmless({ unless = [] }: FieldRule & { use: 'refused' }, value: unknown): boolean {
  const json = JSON.stringify(value);
  return unless.some((one) => JSON.stringify(one) === json);
}

/** The error for a field, or a value of it, that is not supported. */
export function unsupported(param: string, reason: string): HttpError {
  return new HttpError(400, 'unsupported_value', `"${param}" is not supported: ${reason}.`, { param });
}

/** The error for a field that cannot be read. */
export function invalid(param: string, reason: string): HttpError {
  return new HttpError(400, 'invalid_body', `"${param}": ${reason}.`, { param });
}
