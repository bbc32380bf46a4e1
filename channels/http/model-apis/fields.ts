/** Every field of OpenAI's requests: one that changes the answer is honoured or refused by name, a harmless one ignored. */
import { HttpError } from '../errors.ts';

/** `unless` are values of a refused field that ask for what happens anyway. */
export type FieldRule =
  | { use: 'honoured'; note: string }
  | { use: 'harmless'; note: string }
  | { use: 'refused'; note: string; unless?: readonly unknown[] };

/** The fields of one route by name; any other field is refused. */
export type FieldTable = Readonly<Record<string, FieldRule>>;

/** A field that has its effect. */
export const honoured = (note = 'passed on to the model server'): FieldRule => ({ use: 'honoured', note });
/** A field that is ignored, because it changes no answer. */
export const harmless = (note: string): FieldRule => ({ use: 'harmless', note });
/** A field that is an error, except with values that ask for what happens anyway. */
export const refusedField = (note: string, ...unless: unknown[]): FieldRule => ({
  use: 'refused',
  note,
  unless,
});

/** Fields of accounting, caching and logging, which OpenAI's routes share. */
const SHARED = {
  metadata: harmless('nothing is stored for it'),
  moderation: refusedField('there is no moderation'),
  prompt_cache_key: harmless('model servers cache automatically'),
  prompt_cache_options: harmless('model servers cache automatically'),
  prompt_cache_retention: harmless('model servers cache automatically'),
  safety_identifier: harmless('the token is the identity'),
  service_tier: harmless('there is one tier'),
} satisfies FieldTable;

/** Fields of Ollama, llama-server, vLLM, OpenRouter and their front ends, which both routes take. */
const LOCAL = {
  top_k: honoured('where the model server knows it'),
  min_p: honoured('where the model server knows it'),
  typical_p: honoured('where the model server knows it'),
  repeat_penalty: honoured('where the model server knows it'),
  repetition_penalty: honoured('another name of repeat_penalty'),
  repeat_last_n: honoured('where the model server knows it'),
  mirostat: honoured('where the model server knows it'),
  mirostat_tau: honoured('with mirostat'),
  mirostat_eta: honoured('with mirostat'),
  options: honoured('Ollama’s: sampling, `num_predict` and `stop`; what describes its machine has no effect'),
  think: honoured('whether a model that can think does; an effort like reasoning_effort'),
  enable_thinking: honoured('another name of think'),
  thinking: honoured('`{"type": "enabled"}` or `{"type": "disabled"}`, like think'),
  chat_template_kwargs: honoured(
    '`enable_thinking`, `thinking` and `reasoning_effort`; other variables are refused',
  ),
  keep_alive: harmless('the model server decides how long a model stays loaded'),
  cache_prompt: harmless('model servers cache automatically'),
  id_slot: harmless('the model server chooses its slot'),
  include_reasoning: harmless('reasoning is a field of its own'),
  usage: harmless('it is always counted'),
  provider: harmless('the gateway chooses the server'),
  transforms: harmless('nothing is left out of the middle of a conversation'),
  route: harmless('the profile says which model answers instead'),
  client_metadata: harmless('nothing is stored for it'),
  tfs_z: refusedField('model servers no longer know it', 1),
  top_a: refusedField('no model server knows it', 0),
} satisfies FieldTable;

/** `POST /v1/chat/completions`. */
export const COMPLETION_FIELDS: FieldTable = {
  ...SHARED,
  ...LOCAL,
  messages: honoured(
    'in a session the last message, or the tool results at the end, and the system messages; the user’s parts may be files',
  ),
  model: honoured('`default`, a profile, or a model'),
  audio: refusedField('answers are text'),
  frequency_penalty: honoured(),
  function_call: refusedField('use tool_choice'),
  functions: refusedField('use tools'),
  logit_bias: honoured('where the model server knows it, else 400'),
  logprobs: honoured('without a session, where the model server tells them, else 400'),
  max_completion_tokens: honoured(),
  max_tokens: honoured('the older name of max_completion_tokens'),
  modalities: refusedField('answers are text', ['text']),
  n: refusedField('there is one answer', 1),
  parallel_tool_calls: honoured('`false` keeps the first call of an answer'),
  prediction: harmless('it only saves time'),
  presence_penalty: honoured(),
  reasoning: honoured('OpenRouter’s: `effort` like reasoning_effort, `enabled` like think'),
  reasoning_effort: honoured('for models that think, else 400'),
  response_format: honoured('the answer is checked; one that does not match is an error'),
  seed: honoured(),
  stop: honoured(),
  store: harmless('a session is what is stored'),
  stream: honoured('server-sent events'),
  stream_options: honoured('`include_usage`'),
  temperature: honoured(),
  tool_choice: honoured('also where the model server knows none'),
  tools: honoured('functions only'),
  top_logprobs: honoured('with logprobs'),
  top_p: honoured(),
  user: honoured('the end user'),
  verbosity: refusedField('no model server knows it', 'medium'),
  web_search_options: refusedField('the tool web_search of a profile does that'),
  mode: honoured('the gateway’s own: with a session, how a plan is followed'),
  chat_id: harmless('Open WebUI’s own'),
  session_id: harmless('Open WebUI’s own; the header X-Session-Id names a session'),
};

/** `POST /v1/responses`. */
export const RESPONSE_FIELDS: FieldTable = {
  ...SHARED,
  ...LOCAL,
  metadata: harmless('it is repeated in the response'),
  access_programs: refusedField('there are none'),
  background: refusedField('use a session: its turn continues without you', false),
  context_management: refusedField('a session does that automatically', []),
  conversation: refusedField('use the header X-Session-Id'),
  image: refusedField('answers are text'),
  include: harmless('what it names is not there, or there in any case; likelihoods are refused'),
  input: honoured(
    'text, files of the user, function calls and their outputs, references to stored items; in a session what is new',
  ),
  instructions: honoured('in a session they follow the prompt of its profile'),
  max_output_tokens: honoured(),
  max_tool_calls: refusedField('it counts tools that OpenAI runs'),
  model: honoured('`default`, a profile, or a model'),
  parallel_tool_calls: honoured('`false` keeps the first call of an answer'),
  previous_response_id: honoured('a stored response; with a session, its newest one, else 400'),
  prompt: refusedField('no prompts are stored'),
  reasoning: honoured('`effort`, for models that think, else 400'),
  store: honoured('`false`: its ids and those of its items cannot be used later'),
  stream: honoured('server-sent events'),
  stream_options: harmless('nothing is obfuscated'),
  temperature: honoured(),
  text: honoured('`format`; the answer is checked; one that does not match is an error'),
  tool_choice: honoured('also where the model server knows none; 400 if it requires a tool that is left out'),
  tools: honoured(
    'functions, also in namespaces; what OpenAI’s servers run is left out and named in X-Omitted-Tools',
  ),
  top_logprobs: refusedField('use /v1/chat/completions', 0),
  top_p: honoured(),
  truncation: refusedField(
    'a session shortens its history automatically; without one nothing is cut',
    'disabled',
  ),
  user: honoured('the end user'),
};

/** `POST /v1/embeddings`. */
export const EMBEDDING_FIELDS: FieldTable = {
  input: honoured('a text or a list of texts'),
  model: honoured('a model that makes vectors'),
  dimensions: honoured('for models that can shorten their vectors'),
  encoding_format: honoured('`float` or `base64`'),
  user: harmless('nothing is remembered'),
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
