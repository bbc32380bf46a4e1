/** The tables of fields: every field of OpenAI's own client is in them, and does what its table says. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  COMPLETION_FIELDS,
  EMBEDDING_FIELDS,
  type FieldTable,
  RESPONSE_FIELDS,
} from '../../../../../channels/http/model-apis/fields.ts';
import type { StatelessRequest } from '../../../../../src/protocol/gateway-api.ts';
import { echoCompletion } from '../../../../fakes/model/echo-completion.ts';
import { openApi, type OpenApi } from '../../client.ts';
import { LOCAL, officialFields } from './known-fields.ts';

const messages = [{ role: 'user', content: 'hi' }];
const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
const schema = { name: 'thing', schema: { type: 'object' } };

/** A value with an effect for each field. For a refused field it is one that would change the answer. */
const COMPLETION: Record<string, unknown> = {
  ...LOCAL,
  reasoning: { enabled: true },
  messages: [{ role: 'user', content: 'other' }],
  model: 'tiny:1b',
  audio: { format: 'mp3' },
  frequency_penalty: 0.5,
  function_call: 'auto',
  functions: [look],
  logit_bias: { '5': 1 },
  logprobs: true,
  max_completion_tokens: 5,
  max_tokens: 5,
  metadata: { a: 'b' },
  modalities: ['text', 'audio'],
  moderation: { model: 'x' },
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'x' },
  presence_penalty: 0.5,
  prompt_cache_key: 'x',
  prompt_cache_options: {},
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  response_format: { type: 'json_schema', json_schema: schema },
  safety_identifier: 'x',
  seed: 1,
  service_tier: 'flex',
  stop: 'x',
  store: true,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  tool_choice: 'none',
  tools: [{ type: 'function', function: look }],
  top_logprobs: 2,
  top_p: 0.5,
  user: 'u',
  verbosity: 'low',
  web_search_options: {},
  mode: 'teacher',
  chat_id: 'x',
  session_id: 'x',
};

const RESPONSE: Record<string, unknown> = {
  ...LOCAL,
  access_programs: {},
  background: true,
  context_management: [{ type: 'compaction' }],
  conversation: 'conv_1',
  image: {},
  include: ['reasoning.encrypted_content'],
  input: 'other',
  instructions: 'Be brief.',
  max_output_tokens: 5,
  max_tool_calls: 1,
  metadata: { a: 'b' },
  model: 'tiny:1b',
  moderation: { model: 'x' },
  parallel_tool_calls: false,
  previous_response_id: 'resp_1',
  prompt: { id: 'x' },
  prompt_cache_key: 'x',
  prompt_cache_options: {},
  prompt_cache_retention: '24h',
  reasoning: { effort: 'low' },
  safety_identifier: 'x',
  service_tier: 'flex',
  store: true,
  stream: true,
  stream_options: { include_obfuscation: true },
  temperature: 0.5,
  text: { format: { type: 'json_schema', ...schema } },
  tool_choice: 'none',
  tools: [{ type: 'function', ...look }],
  top_logprobs: 2,
  top_p: 0.5,
  truncation: 'auto',
  user: 'u',
};

/** Fields that change something other than the request to the model; they have their own tests. */
const ELSEWHERE = new Set([
  'stream',
  'stream_options',
  'user',
  'mode',
  'previous_response_id',
  'top_logprobs',
  'store',
]);

let api: OpenApi;
let seen: StatelessRequest | undefined;
beforeEach(async () => {
  seen = undefined;
  api = await openApi();
  api.gateway.completion = (request) => {
    seen = request;
    return echoCompletion(request);
  };
});
afterEach(() => api.close());

describe.each([
  {
    path: '/v1/chat/completions',
    table: COMPLETION_FIELDS,
    samples: COMPLETION,
    base: { messages },
    official: officialFields('chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase'),
  },
  {
    path: '/v1/responses',
    table: RESPONSE_FIELDS,
    samples: RESPONSE,
    base: { input: 'hi' },
    official: officialFields('responses/responses.d.ts', 'ResponseCreateParamsBase'),
  },
])('the fields of $path', ({ path, table, samples, base, official }) => {
  async function ask(more: Record<string, unknown>) {
    seen = undefined;
    const response = await api.call(path, { json: { ...base, ...more } });
    const text = await response.text();
    return { status: response.status, request: seen, text };
  }
  const named = (use: FieldTable[string]['use']): string[] =>
    Object.entries(table).flatMap(([name, rule]) => (rule.use === use ? [name] : []));

  it('are all that the official client can send', () => {
    expect(official.length).toBeGreaterThan(30);
    expect(official.filter((name) => table[name] === undefined)).toEqual([]);
    expect(Object.keys(samples).toSorted()).toEqual(Object.keys(table).toSorted());
  });

  it.each(named('refused'))('refuse %s by name', async (field) => {
    const { status, text, request } = await ask({ [field]: samples[field] });
    expect([status, request]).toEqual([400, undefined]);
    expect(JSON.parse(text)).toMatchObject({
      error: { param: field, code: 'unsupported_value', type: 'invalid_request_error' },
    });
  });

  it.each(named('ignored'))('accept %s without any effect', async (field) => {
    const plain = await ask({});
    expect(await ask({ [field]: samples[field] })).toMatchObject({ status: 200, request: plain.request });
  });

  it.each(named('supported').filter((field) => !ELSEWHERE.has(field)))('pass %s on', async (field) => {
    const plain = await ask({});
    const { status, request } = await ask({ [field]: samples[field] });
    expect(status).toBe(200);
    expect(request).not.toEqual(plain.request);
  });

  it('count as left out when they are null, and unknown ones are refused', async () => {
    const nothing = Object.fromEntries(Object.keys(table).map((name) => [name, null]));
    expect((await ask({ ...nothing, ...base })).status).toBe(200);
    const unknown = await ask({ best_of: 5 });
    expect(unknown.status).toBe(400);
    expect(JSON.parse(unknown.text)).toMatchObject({ error: { param: 'best_of', code: 'unknown_field' } });
    expect((await ask({ constructor: 1 })).status).toBe(400);
  });

  it('of a refused kind are accepted with the value that requests the default behavior', async () => {
    for (const [name, rule] of Object.entries(table)) {
      if (rule.use !== 'refused') continue;
      for (const value of rule.unless ?? [])
        expect([name, (await ask({ [name]: value })).status]).toEqual([name, 200]);
    }
  });
});

describe('the fields of /v1/embeddings', () => {
  it('are all that the official client can send', () => {
    const official = officialFields('embeddings.d.ts', 'EmbeddingCreateParams');
    expect(Object.keys(EMBEDDING_FIELDS).toSorted()).toEqual(official.toSorted());
  });
});

describe('a field without a session', () => {
  it.each([
    ['previous_response_id', '/v1/responses', { input: 'x', previous_response_id: 'resp_1' }, {}],
    ['mode', '/v1/chat/completions', { messages, mode: 'teacher' }, {}],
    ['top_logprobs', '/v1/chat/completions', { messages, top_logprobs: 2 }, {}],
    [
      'x-gateway-tools',
      '/v1/chat/completions',
      { messages, tools: COMPLETION['tools'] },
      { 'x-gateway-tools': 'include' },
    ],
    ['x-gateway-tools', '/v1/chat/completions', { messages }, { 'x-gateway-tools': 'perhaps' }],
  ])('that needs something else is refused: %s', async (param, path, json, headers) => {
    const response = await api.call(path, { json, headers });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });

  it('is refused in a session that cannot honor it', async () => {
    const headers = { 'x-session-id': 'anna' };
    const response = await api.call('/v1/chat/completions', { json: { messages, logprobs: true }, headers });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'logprobs' } }]);
    expect(api.gateway.turns.size).toBe(0);
  });
});

describe('tools and their choice', () => {
  const tools = COMPLETION['tools'];
  const named = (name: string) => ({ type: 'function', function: { name } });
  it.each([
    ['auto', { tools, tool_choice: 'auto' }, { tools: [look] }],
    ['none', { tools, tool_choice: 'none' }, { tools: [] }],
    ['none without tools', { tool_choice: 'none' }, { tools: [] }],
    ['no tools', { tools: [] }, {}],
    ['required', { tools, tool_choice: 'required' }, { tools: [look], toolChoice: 'required' }],
    ['named', { tools, tool_choice: named('look') }, { tools: [look], toolChoice: { name: 'look' } }],
    [
      'allowed',
      {
        tools: [...[tools].flat(), { type: 'function', function: { name: 'wait' } }],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named('look')] } },
      },
      { tools: [look], toolChoice: 'required' },
    ],
  ])('reach the model: %s', async (_what, json, options) => {
    const response = await api.call('/v1/chat/completions', { json: { messages, ...json } });
    expect(response.status).toBe(200);
    expect(seen?.options).toEqual(options);
  });

  it.each([
    ['tool_choice', { tool_choice: 'required' }],
    ['tool_choice', { tools, tool_choice: named('wait') }],
    ['tool_choice', { tools, tool_choice: { type: 'custom', custom: { name: 'x' } } }],
    ['tools', { tools: [...[tools].flat(), ...[tools].flat()] }],
    ['tools', { tools: Array.from({ length: 129 }, (_, index) => named(`t${index}`)) }],
    ['tools.0.type', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['tools.0.function.name', { tools: [{ type: 'function', function: { name: 'a b' } }] }],
    [
      'messages.0.function_call',
      { messages: [{ role: 'assistant', content: '', function_call: { name: 'x' } }] },
    ],
    ['response_format.type', { response_format: { type: 'grammar' } }],
    [
      'response_format.json_schema.schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    ],
    ['stop', { stop: Array.from({ length: 17 }, () => 'x') }],
    ['logit_bias', { logit_bias: Object.fromEntries(Array.from({ length: 1_025 }, (_, id) => [id, 1])) }],
  ])('that cannot be read are refused by name: %s', async (param, json) => {
    const response = await api.call('/v1/chat/completions', { json: { messages, ...json } });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    expect(seen).toBeUndefined();
  });
});
