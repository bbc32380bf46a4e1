/**
 * Chat completions by OpenAI's own client against a whole gateway, without a session: each feature works, or is
 * refused by name.
 */
import { zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeGateway } from '../setup.ts';
import { LOOK, openaiClient, place, says } from './client.ts';

/** A question whose answer has a form. */
const wanted = (content: string) => ({
  model: 'default',
  messages: says(content),
  response_format: zodResponseFormat(place, 'place'),
});

describeGateway('the openai client', {}, (fixture) => {
  const client = (maxRetries = 0) => openaiClient(fixture().gateway.url, maxRetries);

  describe('with its own tools', () => {
    it('gets the calls back, and the answer after their results; the model sees no other tool', async () => {
      const { ollama } = fixture();
      ollama.answer({ toolCalls: [{ name: 'look', args: { at: 'home' }, id: 'call_a' }] });
      const first = await client().chat.completions.create({
        model: 'default',
        messages: says('where is it?'),
        tools: [LOOK],
      });
      const [choice] = first.choices;
      expect(choice).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: null,
          tool_calls: [
            { id: 'call_a', type: 'function', function: { name: 'look', arguments: '{"at":"home"}' } },
          ],
        },
      });
      const offered = (await fixture().modelCall('where is it?')).body.tools;
      expect(offered?.map((tool) => tool.function.name)).toEqual(['look']);
      if (choice === undefined) throw new Error('no choice');
      ollama.answer('It is on the table.');
      const results = [{ role: 'tool' as const, tool_call_id: 'call_a', content: 'a table' }];
      const second = await client().chat.completions.create({
        model: 'default',
        messages: [...says('where is it?'), choice.message, ...results],
        tools: [LOOK],
      });
      expect(second.choices[0]).toMatchObject({
        finish_reason: 'stop',
        message: { content: 'It is on the table.' },
      });
    });

    it('streams the calls as deltas that its own helper assembles', async () => {
      const calls = [
        { name: 'look', args: { at: 'a' }, id: 'call_1' },
        { name: 'look', args: { at: 'b' }, id: 'call_2' },
      ];
      fixture().ollama.answer({ text: 'One moment. ', toolCalls: calls });
      const stream = client().chat.completions.stream({
        model: 'default',
        messages: says('look twice'),
        tools: [LOOK],
        stream_options: { include_usage: true },
      });
      const { choices, usage } = await stream.finalChatCompletion();
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      expect(choices[0]?.message.content).toBe('One moment. ');
      const made = choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function);
      expect(made).toMatchObject([{ arguments: '{"at":"a"}' }, { arguments: '{"at":"b"}' }]);
      expect(usage?.total_tokens).toBeGreaterThan(0);
    });

    it('can require a call, name one, forbid them, and have one at a time', async () => {
      const { ollama } = fixture();
      const ask = (more: object) =>
        client().chat.completions.create({
          model: 'default',
          messages: says('choose'),
          tools: [LOOK],
          ...more,
        });
      ollama.answer('{"at": "home"}');
      const forced = await ask({ tool_choice: { type: 'function', function: { name: 'look' } } });
      expect(forced.choices[0]?.message.tool_calls).toMatchObject([
        { function: { arguments: '{"at":"home"}' } },
      ]);
      ollama.answer('No tools.');
      await ask({ tool_choice: 'none' });
      expect((await fixture().modelCall('choose')).body).not.toHaveProperty('tools');
      const twice = [
        { name: 'look', args: { at: 'a' } },
        { name: 'look', args: { at: 'b' } },
      ];
      ollama.answer({ toolCalls: twice });
      const one = await ask({ parallel_tool_calls: false });
      expect(one.choices[0]?.message.tool_calls).toHaveLength(1);
    });

    it('gets an error when the model cannot call tools', async () => {
      const asked = client().chat.completions.create({ model: 'plain', messages: says('x'), tools: [LOOK] });
      await expect(asked).rejects.toMatchObject({ status: 400, param: 'tools', code: 'unsupported_value' });
    });

    it('gets an error when arguments of a strict tool do not match', async () => {
      fixture().ollama.answer({ toolCalls: [{ name: 'look', args: { at: 7 } }] });
      const strict = { ...LOOK, function: { ...LOOK.function, strict: true } };
      const asked = client().chat.completions.create({
        model: 'default',
        messages: says('x'),
        tools: [strict],
      });
      await expect(asked).rejects.toMatchObject({ status: 502, code: 'invalid_answer' });
    });

    it('runs its tools with its own runner', async () => {
      fixture().ollama.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
      fixture().ollama.answer((body) => `I saw ${body.messages.at(-1)?.content}.`);
      const runner = client().chat.completions.runTools({
        model: 'default',
        messages: says('run it'),
        tools: [
          {
            type: 'function',
            function: {
              ...LOOK.function,
              parse: (text: string) => z.object({ at: z.string() }).parse(JSON.parse(text)),
              function: ({ at }: { at: string }) => `a cat at ${at}`,
            },
          },
        ],
      });
      expect(await runner.finalContent()).toBe('I saw a cat at home.');
    });
  });

  describe('with a format for the answer', () => {
    it('parses an answer that matches its schema, which was passed to the model server', async () => {
      fixture().ollama.answer('{"city": "Oslo", "people": 700000}');
      const answer = await client().chat.completions.parse({
        model: 'default',
        messages: says('a city'),
        response_format: zodResponseFormat(place, 'place'),
      });
      expect(answer.choices[0]?.message.parsed).toEqual({ city: 'Oslo', people: 700_000 });
      expect((await fixture().modelCall('a city')).body.format).toMatchObject({
        type: 'object',
        required: ['city', 'people'],
      });
    });

    it.each([
      ['prose', 'Oslo has 700,000 people.'],
      ['the wrong fields', '{"city": "Oslo"}'],
    ])('gets an error for %s, whole and streamed', async (_what, text) => {
      const { ollama } = fixture();
      const request = {
        model: 'default',
        messages: says('a city'),
        response_format: zodResponseFormat(place, 'place'),
      };
      // The model gets one more chance.
      ollama.answer(text);
      ollama.answer(text);
      const whole = client().chat.completions.create(request);
      await expect(whole).rejects.toMatchObject({ status: 502, code: 'invalid_answer' });
      ollama.answer(text);
      const stream = await client().chat.completions.create({ ...request, stream: true });
      await expect(async () => {
        for await (const _ of stream);
      }).rejects.toThrow(/not have the requested form/);
    });

    it.each([
      ['a code fence', '```json\n{"city": "Oslo", "people": 1}\n```\n'],
      ['a byte order mark', '\ufeff{"city": "Oslo", "people": 1}'],
    ])('gets bare JSON from %s, whole and streamed', async (_what, text) => {
      const request = wanted('a city');
      fixture().ollama.answer({ text: text.split('') });
      const whole = await client().chat.completions.create(request);
      expect(whole.choices[0]?.message.content).toBe('{"city": "Oslo", "people": 1}');
      fixture().ollama.answer({ text: text.split('') });
      let streamed = '';
      for await (const chunk of await client().chat.completions.create({ ...request, stream: true }))
        streamed += chunk.choices[0]?.delta.content ?? '';
      expect(streamed).toBe('{"city": "Oslo", "people": 1}');
    });

    it('gets the second answer of a model that learns what was wrong with its first', async () => {
      const { ollama } = fixture();
      ollama.answer('Oslo has one person.');
      ollama.answer('{"city": "Oslo", "people": 1}');
      const answer = await client().chat.completions.parse(wanted('which city?'));
      expect(answer.choices[0]?.message.parsed).toEqual({ city: 'Oslo', people: 1 });
      const roles = ollama.calls
        .at(-1)
        ?.body.messages.slice(-3)
        .map(({ role, content }) => `${role}: ${content}`);
      expect(roles).toEqual([
        'user: which city?',
        'assistant: Oslo has one person.',
        'user: Your answer does not have the requested form: it is not JSON. Send it again, as JSON alone.',
      ]);
      expect(answer.usage?.completion_tokens).toBeGreaterThan(2);
    });

    it('accepts any JSON object with json_object, and a truncated answer as such', async () => {
      const { ollama } = fixture();
      const ask = () =>
        client().chat.completions.create({
          model: 'default',
          messages: says('json'),
          response_format: { type: 'json_object' },
        });
      ollama.answer('{"a": 1}');
      expect((await ask()).choices[0]?.message.content).toBe('{"a": 1}');
      ollama.answer({ text: '{"a": ', doneReason: 'length' });
      expect((await ask()).choices[0]).toMatchObject({ finish_reason: 'length' });
      ollama.answer('[1]');
      ollama.answer('[1]');
      await expect(ask()).rejects.toMatchObject({ code: 'invalid_answer' });
    });
  });

  it('gets an error for what this model server cannot do', async () => {
    const ask = (more: object) =>
      client().chat.completions.create({ model: 'plain', messages: says('x'), ...more });
    await expect(ask({ logit_bias: { '5': 1 } })).rejects.toMatchObject({ status: 400, param: 'logit_bias' });
    await expect(ask({ reasoning_effort: 'high' })).rejects.toMatchObject({ param: 'reasoning_effort' });
    await expect(ask({ logprobs: true })).rejects.toMatchObject({ status: 400, param: 'logprobs' });
    expect((await ask({ reasoning_effort: 'none' })).choices[0]?.finish_reason).toBe('stop');
  });

  it('gets likelihoods if the model server reports them', async () => {
    fixture().ollama.answer({ text: ['yes'], extra: { logprobs: [{ token: 'yes', logprob: -0.25 }] } });
    const answer = await client().chat.completions.create({
      model: 'default',
      messages: says('likely?'),
      logprobs: true,
    });
    expect(answer.choices[0]?.logprobs?.content).toEqual([
      { token: 'yes', logprob: -0.25, bytes: null, top_logprobs: [] },
    ]);
  });

  it('frees the model when it aborts', async () => {
    fixture().ollama.answer({ text: 'long', hold: true });
    const gone = new AbortController();
    const asked = client(2).chat.completions.create(
      { model: 'default', messages: says('abort me'), tools: [LOOK] },
      { signal: gone.signal },
    );
    const call = await fixture().modelCall('abort me');
    gone.abort();
    await expect(asked).rejects.toThrow(/abort/i);
    expect((await call.closed).by).toBe('client');
  });
});
