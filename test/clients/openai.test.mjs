/** OpenAI's own package in its newest version: both routes, its helpers, and what it reads back by id. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { z } from 'zod';
import { startForClients, TOKEN } from './gateway.mjs';

let gateway;
let openai;
beforeAll(async () => {
  gateway = await startForClients();
  openai = new OpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN, maxRetries: 0 });
});
afterAll(() => gateway.close());

const place = z.object({ city: z.string(), people: z.number() });
const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
const look = { type: 'function', name: 'look', description: 'Looks at a place.', strict: false, parameters };
const ask = { model: 'default', messages: [{ role: 'user', content: 'where is it?' }] };
const calls = (at) => ({ thinking: 'Hm.', toolCalls: [{ name: 'look', args: { at } }] });
const roles = (body) => body.messages.map(({ role }) => role).join();

describe('the openai package, chat completions', () => {
  it('answers, and streams with its helper', async () => {
    gateway.model.answer('On the table.');
    const { choices } = await openai.chat.completions.create(ask);
    assert.equal(choices[0].message.content, 'On the table.');
    gateway.model.answer({ text: ['On ', 'the ', 'chair.'] });
    assert.equal(await openai.chat.completions.stream(ask).finalContent(), 'On the chair.');
  });

  it('runs tools, and has a second turn with its messages', async () => {
    const tool = {
      type: 'function',
      function: { ...look, parse: JSON.parse, function: ({ at }) => `a cat at ${at}` },
    };
    gateway.model.answer(calls('home'));
    gateway.model.answer('At home.');
    const runner = openai.chat.completions.runTools({ ...ask, tools: [tool] });
    assert.equal(await runner.finalContent(), 'At home.');
    gateway.model.answer(roles);
    const messages = [...runner.messages, { role: 'user', content: 'and now?' }];
    const second = await openai.chat.completions.create({ ...ask, messages });
    assert.equal(second.choices[0].message.content, 'user,assistant,tool,assistant,user');
  });

  it('parses an object', async () => {
    gateway.model.answer('```json\n{"city": "Oslo", "people": 1}\n```');
    const format = { response_format: zodResponseFormat(place, 'place') };
    const { choices } = await openai.chat.completions.parse({ ...ask, ...format });
    assert.deepEqual(choices[0].message.parsed, { city: 'Oslo', people: 1 });
  });

  it('sends what front ends of local models add', async () => {
    gateway.model.answer('Done.');
    const more = {
      top_k: 40,
      min_p: 0.1,
      repeat_penalty: 1.1,
      think: false,
      keep_alive: '5m',
      max_tokens: -1,
    };
    await openai.chat.completions.create({ ...ask, ...more, logit_bias: {}, stop: '' });
    const { options } = gateway.model.calls.at(-1).body;
    assert.deepEqual([options.top_k, options.min_p, options.repeat_penalty], [40, 0.1, 1.1]);
    assert.ok(!('num_predict' in options) && !('stop' in options));
  });
});

describe('the openai package, responses', () => {
  it('answers, streams and parses', async () => {
    gateway.model.answer('On the table.');
    assert.equal(
      (await openai.responses.create({ model: 'default', input: 'where?' })).output_text,
      'On the table.',
    );
    gateway.model.answer({ thinking: 'Hm.', text: ['On ', 'the ', 'chair.'] });
    const streamed = await openai.responses.stream({ model: 'default', input: 'where?' }).finalResponse();
    assert.equal(streamed.output_text, 'On the chair.');
    gateway.model.answer('{"city": "Oslo", "people": 1}');
    const format = { text: { format: zodTextFormat(place, 'place') } };
    const parsed = await openai.responses.parse({ model: 'default', input: 'a city', ...format });
    assert.deepEqual(parsed.output_parsed, { city: 'Oslo', people: 1 });
  });

  it('continues after a function call: with the items, with references, and by id', async () => {
    const ways = {
      items: ({ output }) => ({ input: [...ask.messages, ...output] }),
      references: ({ output }) => ({
        input: [...ask.messages, ...output.map(({ id }) => ({ type: 'item_reference', id }))],
      }),
      id: ({ id }) => ({ input: [], previous_response_id: id }),
    };
    for (const [name, way] of Object.entries(ways)) {
      gateway.model.answer(calls('home'));
      const first = await openai.responses.create({ model: 'default', input: ask.messages, tools: [look] });
      const { call_id } = first.output.at(-1);
      const { input, ...more } = way(first);
      input.push({ type: 'function_call_output', call_id, output: 'a cat' });
      gateway.model.answer(roles);
      const second = await openai.responses.create({ model: 'default', input, tools: [look], ...more });
      assert.equal(second.output_text, 'user,assistant,tool', name);
    }
  });

  it('reads, lists and deletes what is stored', async () => {
    gateway.model.answer('Hello.');
    const sent = await openai.responses.create({ model: 'default', input: 'hi', metadata: { a: 'b' } });
    const stored = await openai.responses.retrieve(sent.id);
    assert.deepEqual([stored.output, stored.metadata], [sent.output, { a: 'b' }]);
    const items = [];
    for await (const item of openai.responses.inputItems.list(sent.id)) items.push(item);
    assert.deepEqual(
      items.map(({ role, content }) => [role, content[0].text]),
      [['user', 'hi']],
    );
    await openai.responses.delete(sent.id);
    await assert.rejects(openai.responses.retrieve(sent.id), { status: 404, code: 'response_not_found' });
  });

  it('stores nothing with store: false', async () => {
    gateway.model.answer('Hello.');
    const { id } = await openai.responses.create({ model: 'default', input: 'hi', store: false });
    await assert.rejects(openai.responses.retrieve(id), { status: 404 });
    const next = { model: 'default', input: 'x', previous_response_id: id };
    await assert.rejects(openai.responses.create(next), { status: 400, param: 'previous_response_id' });
  });
});

describe('the openai package', () => {
  it('gets vectors and models', async () => {
    const { data } = await openai.embeddings.create({ model: 'fake', input: ['one', 'three'] });
    assert.deepEqual(
      data.map(({ embedding }) => embedding[0]),
      [3, 5],
    );
    assert.equal((await openai.models.retrieve('default')).id, 'default');
  });
});
