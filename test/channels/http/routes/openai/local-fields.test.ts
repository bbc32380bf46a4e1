/** What front ends of local models send, and clients that write null, nothing or an object where OpenAI's API has a text. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StatelessRequest } from '../../../../../src/protocol/gateway-api.ts';
import { echoCompletion } from '../../../../fakes/model/echo-completion.ts';
import { openApi, type OpenApi } from '../../client.ts';

const messages = [{ role: 'user', content: 'hi' }];

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

describe('what front ends of local models send', () => {
  const options = async (json: Record<string, unknown>, path = '/v1/chat/completions') => {
    const base = path.endsWith('responses') ? { input: 'hi' } : { messages };
    const response = await api.call(path, { json: { ...base, ...json } });
    expect([response.status, await response.text()]).toMatchObject([200, expect.anything()]);
    return seen?.options;
  };

  it.each([
    [{ repetition_penalty: 1.2 }, { repeatPenalty: 1.2 }],
    [{ repetition_penalty: 1.2, repeat_penalty: 1.1 }, { repeatPenalty: 1.1 }],
    [{ think: false }, { think: false }],
    [{ think: 'high' }, { reasoningEffort: 'high' }],
    [{ enable_thinking: false }, { think: false }],
    [{ thinking: { type: 'disabled', budget_tokens: 5 } }, { think: false }],
    [{ thinking: { type: 'adaptive' } }, { think: true }],
    [{ chat_template_kwargs: { thinking: true } }, { think: true }],
    [{ chat_template_kwargs: { reasoning_effort: 'low' } }, { reasoningEffort: 'low' }],
    [
      { options: { num_ctx: 4_096, num_predict: 9, top_k: 5, stop: ['x'], temperature: 0.1 } },
      { maxTokens: 9, topK: 5, stop: ['x'], temperature: 0.1 },
    ],
    [{ options: { num_predict: -2, tfs_z: 1, top_k: 5 }, top_k: 7 }, { topK: 7 }],
    [{ options: { temperature: 0.1 }, temperature: 0.9 }, { temperature: 0.9 }],
  ])('%j reaches the model', async (json, wanted) => {
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      expect(await options(json, path)).toEqual(wanted);
    }
  });

  it.each([
    [{ reasoning: { effort: 'high', exclude: true } }, { reasoningEffort: 'high' }],
    [{ reasoning: { enabled: false } }, { think: false }],
    [{ reasoning: { max_tokens: 100 }, reasoning_effort: 'low' }, { reasoningEffort: 'low' }],
  ])('%j of OpenRouter reaches the model', async (json, wanted) => {
    expect(await options(json)).toEqual(wanted);
  });

  it.each([
    { logit_bias: {} },
    { max_tokens: -1 },
    { max_completion_tokens: -1 },
    { stop: '' },
    { stop: [] },
    { stop: [''] },
    { model: '' },
  ])('%j counts as left out', async (json) => {
    expect(await options(json)).toEqual({});
    expect(seen?.model).toBe('default');
  });

  it.each([
    ['options.num_gpus', { options: { num_gpus: 1 } }],
    ['options.tfs_z', { options: { tfs_z: 0.5 } }],
    ['options.top_k', { options: { top_k: 'many' } }],
    ['chat_template_kwargs.persona', { chat_template_kwargs: { persona: 'pirate' } }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: -2 }],
    ['top_k', { top_k: -2 }],
    ['min_p', { min_p: 1.5 }],
    ['mirostat', { mirostat: 3 }],
    ['think', { think: 'a lot' }],
  ])('is refused by name where it cannot be honored: %s', async (param, json) => {
    const response = await api.call('/v1/chat/completions', { json: { messages, ...json } });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    expect(seen).toBeUndefined();
  });
});

describe('a null anywhere', () => {
  it('counts as left out in the parts of a message, as the Agents SDK sends them', async () => {
    const part = { type: 'text', text: 'Hello.', role: 'assistant', reasoning_content: 'Hm.', refusal: null };
    const call = { id: 'c', type: null, function: { name: 'look', arguments: null } };
    const json = {
      messages: [
        ...messages,
        { role: 'assistant', content: [part, { type: 'refusal', text: null, refusal: 'No.' }] },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: null }] },
        { role: 'user', content: [{ type: 'text', text: 'again', refusal: null }] },
      ],
    };
    expect((await api.call('/v1/chat/completions', { json })).status).toBe(200);
    expect(seen?.messages.map(({ content }) => content)).toEqual(['hi', 'Hello.\nNo.', '', '', 'again']);
    expect(seen?.messages[2]).toMatchObject({ toolCalls: [{ name: 'look', args: {} }] });
  });

  it('counts as left out in the items of a response', async () => {
    const json = {
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hi', refusal: null }], type: null, id: null },
        { role: 'assistant', content: null, status: null },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '', id: null, namespace: null },
        { type: 'function_call_output', call_id: 'c', output: null },
      ],
    };
    expect((await api.call('/v1/responses', { json })).status).toBe(200);
    expect(seen?.messages.map(({ content }) => content)).toEqual(['hi', '', '']);
  });

  it('is not a wrong type: the error names the part', async () => {
    const wrong = {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 5 },
          ],
        },
      ],
    };
    const response = await api.call('/v1/chat/completions', { json: wrong });
    expect(await response.json()).toMatchObject({ error: { param: 'messages.0.content.1.text' } });
    const input = [{ role: 'user', content: [{ type: 'input_text', text: 5 }] }];
    const other = await api.call('/v1/responses', { json: { input } });
    expect(await other.json()).toMatchObject({ error: { param: 'input.0.content.0.text' } });
  });
});

it('takes the arguments of an earlier call as an object, too', async () => {
  const args = { at: 'home' };
  const call = { id: 'c', type: 'function', function: { name: 'look', arguments: args } };
  const json = {
    messages: [
      ...messages,
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'a cat' },
    ],
  };
  expect((await api.call('/v1/chat/completions', { json })).status).toBe(200);
  expect(seen?.messages[1]).toMatchObject({ toolCalls: [{ id: 'c', name: 'look', args }] });
});
