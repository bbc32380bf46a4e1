/** The older route for completions, with OpenAI's own client. */
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { StatelessRequest } from '../../../../../src/protocol/gateway-api.ts';
import { CHAT } from '../../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../../client.ts';

let api: OpenApi;
let client: OpenAI;
let seen: StatelessRequest[];

beforeEach(async () => {
  api = await openApi();
  seen = [];
  api.gateway.completion = async function* (request) {
    seen.push(request);
    yield { type: 'thinking', delta: 'Hm.' };
    yield { type: 'text', delta: 'in Paris' };
    yield { type: 'text', delta: '.' };
    yield {
      type: 'done',
      finishReason: 'length',
      usage: { promptTokens: 4, completionTokens: 3, modelMs: 1 },
    };
  };
  client = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: CHAT.slice('Bearer '.length), maxRetries: 0 });
});
afterEach(() => api.close());

const asked = { model: 'default', prompt: 'The tower is' };

it('answers a prompt as the only message of a chat', async () => {
  const answer = await client.completions.create({ ...asked, max_tokens: 3, stop: ['\n'], temperature: 0 });
  expect(answer).toMatchObject({
    id: expect.stringMatching(/^cmpl-/),
    object: 'text_completion',
    model: 'default',
    choices: [{ text: 'in Paris.', index: 0, logprobs: null, finish_reason: 'length' }],
    usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
  });
  expect(seen).toEqual([
    {
      messages: [{ role: 'user', content: 'The tower is' }],
      model: 'default',
      options: { maxTokens: 3, stop: ['\n'], temperature: 0 },
      topLogprobs: undefined,
      whole: true,
    },
  ]);
});

it('streams the text, with its usage if that is asked for', async () => {
  const texts: string[] = [];
  let usage: unknown;
  const stream = await client.completions.create({
    ...asked,
    prompt: ['The tower is'],
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    texts.push(chunk.choices[0]?.text ?? '(usage)');
    usage = chunk.usage;
  }
  expect(texts).toEqual(['in Paris', '.', '', '(usage)']);
  expect(usage).toMatchObject({ total_tokens: 7 });
});

it.each([
  [{ suffix: ' end' }, 'suffix'],
  [{ echo: true }, 'echo'],
  [{ best_of: 2 }, 'best_of'],
  [{ n: 2 }, 'n'],
  [{ logprobs: 1 }, 'logprobs'],
  [{ prompt: [1, 2] }, 'prompt'],
  [{ prompt: ['a', 'b'] }, 'prompt'],
  [{ messages: [] }, 'messages'],
])('refuses %o by name', async (json, param) => {
  const answer = await api.call('/v1/completions', { json: { ...asked, ...json } });
  const { error } = await answer.json();
  expect([answer.status, String(error.param).split('.')[0]]).toEqual([400, param]);
});

it('accepts fields that ask for the default', async () => {
  const json = { ...asked, suffix: null, echo: false, best_of: 1, n: 1, logprobs: null };
  expect((await api.call('/v1/completions', { json })).status).toBe(200);
});

it('ends a stream that fails with an error frame', async () => {
  api.gateway.completion = async function* () {
    yield { type: 'text', delta: 'in' };
    throw new Error('broken');
  };
  const answer = await api.call('/v1/completions', { json: { ...asked, stream: true } });
  expect(await answer.text()).toMatch(/"text":"in"[^]*"code":"internal"[^]*$/);
});

it('is a message of its session, with X-Session-Id', async () => {
  const headers = { 'x-session-id': 'towers' };
  const answer = await api.call('/v1/completions', { json: asked, headers });
  expect((await answer.json()).choices[0].text).toBe('You said: The tower is');
});
