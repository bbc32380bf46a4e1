/**
 * Responses, vectors and models by OpenAI's own client against a whole gateway, without a session: each feature works,
 * or is refused by name.
 */
import { zodTextFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import { describeGateway } from '../setup.ts';
import { LOOK, openaiClient, place, says } from './client.ts';

describeGateway('the openai client, besides chat completions', {}, (fixture) => {
  const client = (maxRetries = 0) => openaiClient(fixture().gateway.url, maxRetries);

  describe('with the responses API', () => {
    it('gets text, usage and reasoning', async () => {
      fixture().ollama.answer({ thinking: 'Hm. ', text: ['Hello ', 'you.'] });
      const response = await client().responses.create({
        model: 'default',
        instructions: 'Be kind.',
        input: 'greet me',
        reasoning: { effort: 'low' },
      });
      expect(response).toMatchObject({ status: 'completed', output_text: 'Hello you.', object: 'response' });
      expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
      expect(response.usage?.output_tokens).toBeGreaterThan(0);
      const { messages, think } = (await fixture().modelCall('greet me')).body;
      expect([messages[0], think]).toMatchObject([{ role: 'system', content: 'Be kind.' }, true]);
    });

    it('streams events that its own helper accumulates to the same response', async () => {
      const call = { name: 'look', args: { at: 'home' }, id: 'call_r' };
      fixture().ollama.answer({ thinking: 'Hm. ', text: ['Let ', 'me see.'], toolCalls: [call] });
      const stream = client().responses.stream({
        model: 'default',
        input: 'look there',
        tools: [{ type: 'function', strict: false, ...LOOK.function }],
      });
      const types: string[] = [];
      let number = -1;
      for await (const event of stream) {
        types.push(event.type);
        expect(event.sequence_number).toBe((number += 1));
      }
      const response = await stream.finalResponse();
      expect(response.output_text).toBe('Let me see.');
      expect(response.output.at(-1)).toMatchObject({
        type: 'function_call',
        call_id: 'call_r',
        name: 'look',
        arguments: '{"at":"home"}',
      });
      expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
      expect(types.at(-1)).toBe('response.completed');
      for (const type of [
        'response.reasoning_text.delta',
        'response.output_text.delta',
        'response.function_call_arguments.done',
      ])
        expect(types).toContain(type);
    });

    it('continues after the outputs of its function calls', async () => {
      fixture().ollama.answer((body) => `Seen: ${body.messages.at(-1)?.content}`);
      const response = await client().responses.create({
        model: 'default',
        input: [
          ...says('look'),
          { type: 'reasoning', id: 'rs_1', summary: [] },
          { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"home"}' },
          { type: 'function_call_output', call_id: 'c1', output: 'a cat' },
        ],
      });
      expect(response.output_text).toBe('Seen: a cat');
    });

    it('continues a tool loop over a restart of the gateway, by reference and by id', async () => {
      const { ollama } = fixture();
      const tools = [{ type: 'function' as const, strict: false, ...LOOK.function }];
      ollama.answer({ toolCalls: [{ name: 'look', args: { at: 'home' }, id: 'call_s' }] });
      const first = await client().responses.create({ model: 'default', input: says('look around'), tools });
      await fixture().restart();
      const output = { type: 'function_call_output' as const, call_id: 'call_s', output: 'a cat' };
      const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }));
      ollama.answer((body) => `Seen: ${body.messages.at(-1)?.content}`);
      const input = [...says('look around'), ...references, output];
      const second = await client().responses.create({ model: 'default', input, tools });
      expect(second.output_text).toBe('Seen: a cat');
      ollama.answer((body) => body.messages.map(({ role }) => role).join());
      const third = await client().responses.create({
        model: 'default',
        input: [output],
        previous_response_id: first.id,
      });
      expect(third.output_text).toBe('user,assistant,tool');
    });

    it('parses a format, and reports that an answer was cut off', async () => {
      fixture().ollama.answer('{"city": "Oslo", "people": 1}');
      const parsed = await client().responses.parse({
        model: 'default',
        input: 'a city',
        text: { format: zodTextFormat(place, 'place') },
      });
      expect(parsed.output_parsed).toEqual({ city: 'Oslo', people: 1 });
      fixture().ollama.answer({ text: 'a long', doneReason: 'length' });
      const cut = await client().responses.create({ model: 'default', input: 'x', max_output_tokens: 2 });
      expect(cut).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      });
    });

    it.each([
      ['tools.0.type', { tools: [{ type: 'telepathy' }] }],
      ['tool_choice', { tools: [{ type: 'web_search' }], tool_choice: 'required' }],
      ['input.0.type', { input: [{ type: 'web_search_call', id: 'ws_1' }] }],
      [
        'input.0.content.0',
        { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      ],
      ['input.0.call_id', { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }],
      ['include', { include: ['message.output_text.logprobs'] }],
      ['text.verbosity', { text: { verbosity: 'low' } }],
      ['reasoning.mode', { reasoning: { mode: 'pro' } }],
    ])('gets an error for what does not exist: %s', async (param, json) => {
      const response = await fixture().call('/v1/responses', { json: { input: 'x', ...json } });
      expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    });
  });

  it('gets vectors, as numbers and as the base64 it requests on its own', async () => {
    const input = ['one', 'three'];
    const decoded = await client().embeddings.create({ model: 'fake', input });
    const plain = await client().embeddings.create({ model: 'fake', input, encoding_format: 'float' });
    expect(decoded.data.map(({ embedding }) => embedding)).toEqual([
      [3, Math.fround(0.1), 0],
      [5, Math.fround(0.1), 0],
    ]);
    expect(plain.data.map(({ embedding, index }) => [index, embedding])).toEqual([
      [0, [3, 0.1, 0]],
      [1, [5, 0.1, 0]],
    ]);
    expect(plain.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    const short = await client().embeddings.create({ model: 'fake', input: 'one', dimensions: 2 });
    expect(short.data[0]?.embedding).toHaveLength(2);
    const tokens = client().embeddings.create({ model: 'fake', input: [1, 2, 3] });
    await expect(tokens).rejects.toMatchObject({ status: 400, param: 'input' });
  });

  it('finds a model by name, and gets an error for one that does not exist', async () => {
    expect(await client().models.retrieve('fake:latest')).toMatchObject({
      id: 'fake:latest',
      object: 'model',
    });
    const missing = client().models.retrieve('some/other');
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });
});
