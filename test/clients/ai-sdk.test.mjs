/** The AI SDK: `openai()` (the responses API), `openai.chat()` and the provider for compatible servers. */
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  embed,
  embedMany,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamObject,
  streamText,
  tool,
} from 'ai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { z } from 'zod';
import { PICTURE, startForClients, TOKEN } from './gateway.mjs';

let gateway;
beforeAll(async () => void (gateway = await startForClients()));
afterAll(() => gateway.close());

const place = z.object({ city: z.string(), people: z.number() });
const look = () =>
  tool({
    description: 'Looks at a place.',
    inputSchema: z.object({ at: z.string() }),
    execute: ({ at }) => `a cat at ${at}`,
  });

const makers = {
  responses: () => createOpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN })('default'),
  chat: () => createOpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN }).chat('default'),
  compatible: () =>
    createOpenAICompatible({
      name: 'parley',
      baseURL: gateway.baseURL,
      apiKey: TOKEN,
      supportsStructuredOutputs: true,
      includeUsage: true,
    })('default'),
};

for (const [name, make] of Object.entries(makers)) {
  describe(`the AI SDK, ${name}`, () => {
    const ask = (more) => ({ model: make(), prompt: 'where is it?', maxRetries: 0, ...more });

    it('generates text with usage', async () => {
      gateway.model.answer('On the table.');
      const { text, usage, finishReason } = await generateText(ask());
      assert.deepEqual([text, finishReason], ['On the table.', 'stop']);
      assert.ok(usage.outputTokens > 0);
    });

    it('shows a picture', async () => {
      gateway.model.answer((body) => `I see ${body.messages.at(-1).images.length} picture.`);
      const image = `data:image/png;base64,${PICTURE}`;
      const content = [
        { type: 'text', text: 'what is it?' },
        { type: 'image', image },
      ];
      const { text } = await generateText({
        model: make(),
        messages: [{ role: 'user', content }],
        maxRetries: 0,
      });
      assert.equal(text, 'I see 1 picture.');
    });

    it('streams text', async () => {
      gateway.model.answer({ text: ['On ', 'the ', 'table.'] });
      let text = '';
      for await (const delta of streamText(ask()).textStream) text += delta;
      assert.equal(text, 'On the table.');
    });

    it('runs its tools, whole and streamed', async () => {
      for (const run of [generateText, streamText]) {
        gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
        gateway.model.answer((body) => `I see ${body.messages.at(-1).content}.`);
        const result = await run(ask({ tools: { look: look() }, stopWhen: stepCountIs(3) }));
        assert.match(await result.text, /^I see .*a cat at home.*\.$/);
        assert.equal((await result.steps).length, 2);
      }
    });

    it('goes through several steps, each with what the earlier ones found', async () => {
      for (const run of [generateText, streamText]) {
        for (const at of ['home', 'work', 'sea'])
          gateway.model.answer({ toolCalls: [{ name: 'look', args: { at } }] });
        gateway.model.answer((body) => {
          const seen = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
          return `Seen: ${seen.join(', ')}`;
        });
        const result = await run(ask({ tools: { look: look() }, stopWhen: stepCountIs(5) }));
        const text = await result.text;
        for (const at of ['home', 'work', 'sea']) assert.match(text, new RegExp(`a cat at ${at}`));
        assert.equal((await result.steps).length, 4);
      }
    });

    it('continues a conversation with the messages of its own answer', async () => {
      const tools = { look: look() };
      const question = { role: 'user', content: 'where is it?' };
      gateway.model.answer({ thinking: 'Hm.', toolCalls: [{ name: 'look', args: { at: 'home' } }] });
      gateway.model.answer('At home.');
      const first = await generateText({
        model: make(),
        messages: [question],
        tools,
        stopWhen: stepCountIs(5),
        maxRetries: 0,
      });
      gateway.model.answer((body) => body.messages.map(({ role }) => role).join());
      const messages = [question, ...first.responseMessages, { role: 'user', content: 'and now?' }];
      const second = await generateText({ model: make(), messages, tools, maxRetries: 0 });
      assert.equal(second.text, 'user,assistant,tool,assistant,user');
    });

    it('makes an object, whole and streamed, out of a fence too', async () => {
      gateway.model.answer('```json\n{"city": "Oslo", "people": 1}\n```');
      const whole = await generateObject(ask({ schema: place }));
      assert.deepEqual(whole.object, { city: 'Oslo', people: 1 });
      gateway.model.answer({ text: ['```json\n{"city": "Os', 'lo", "people": 1}\n', '```'] });
      const streamed = streamObject(ask({ schema: place }));
      for await (const _ of streamed.partialObjectStream);
      assert.deepEqual(await streamed.object, { city: 'Oslo', people: 1 });
    });

    it('is obeyed when a tool must be called', async () => {
      gateway.model.answer('{"at": "home"}');
      const forced = ask({ tools: { look: look() }, toolChoice: { type: 'tool', toolName: 'look' } });
      const { toolCalls } = await generateText(forced);
      assert.deepEqual(
        toolCalls.map(({ input }) => input),
        [{ at: 'home' }],
      );
    });

    it('gets an object of its schema, and is told of an answer that is none', async () => {
      const wanted = ask({ output: Output.object({ schema: place }) });
      gateway.model.answer('{"city": "Oslo", "people": 1}');
      assert.deepEqual((await generateText(wanted)).output, { city: 'Oslo', people: 1 });
      assert.equal(gateway.model.calls.at(-1).body.format.type, 'object');
      // The gateway asks the model once more.
      gateway.model.answer('Oslo is nice.');
      gateway.model.answer('Oslo is nice.');
      await assert.rejects(generateText(wanted), /not have the requested form/);
    });

    it('shows reasoning', async () => {
      gateway.model.answer({ thinking: 'Hm.', text: 'Well.' });
      const { text, reasoningText } = await generateText(ask());
      assert.equal(text, 'Well.');
      // The provider for responses reads summaries only, and chat() of OpenAI no reasoning at all.
      if (name === 'compatible') assert.equal(reasoningText, 'Hm.');
    });

    it('stops the model when it aborts', async () => {
      gateway.model.answer({ text: 'long', hold: true });
      const gone = new AbortController();
      const before = gateway.model.calls.length;
      const asked = generateText(ask({ abortSignal: gone.signal }));
      asked.catch(() => undefined);
      while (gateway.model.calls.length === before) await setTimeout(10);
      const call = gateway.model.calls.at(-1);
      gone.abort();
      await assert.rejects(asked, /abort/i);
      assert.equal((await call.closed).by, 'client');
    });

    it('is refused a broken picture by name', async () => {
      const image = { type: 'file', mediaType: 'image/png', data: new Uint8Array([137, 80, 78, 71]) };
      const messages = [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, image] }];
      await assert.rejects(
        generateText({ model: make(), messages, maxRetries: 0 }),
        /"image-2" cannot be read/,
      );
    });
  });
}

describe('the AI SDK', () => {
  it('continues a response by its id, and is told of one that is not stored', async () => {
    const model = createOpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN })('default');
    const ask = (prompt, previousResponseId) =>
      generateText({ model, prompt, maxRetries: 0, providerOptions: { openai: { previousResponseId } } });
    gateway.model.answer('I am a cat.');
    const first = await ask('who are you?');
    gateway.model.answer((body) => body.messages.map(({ content }) => content).join(' / '));
    const second = await ask('really?', first.providerMetadata.openai.responseId);
    assert.equal(second.text, 'who are you? / I am a cat. / really?');
    await assert.rejects(ask('and now?', 'resp_unknown'), /"resp_unknown" is not stored/);
  });

  it('is not stored with store: false, and works without', async () => {
    const model = createOpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN })('default');
    gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
    gateway.model.answer('At home.');
    const { text } = await generateText({
      model,
      prompt: 'where is it?',
      tools: { look: look() },
      stopWhen: stepCountIs(5),
      maxRetries: 0,
      providerOptions: { openai: { store: false } },
    });
    assert.equal(text, 'At home.');
  });

  it('gets vectors', async () => {
    const maker = createOpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN });
    const { embedding } = await embed({ model: maker.embedding('fake'), value: 'one' });
    assert.deepEqual(embedding.slice(0, 1), [3]);
    const compatible = createOpenAICompatible({ name: 'parley', baseURL: gateway.baseURL, apiKey: TOKEN });
    const model = compatible.embeddingModel?.('fake') ?? compatible.textEmbeddingModel('fake');
    const { embeddings } = await embedMany({ model, values: ['one', 'three'] });
    assert.deepEqual(
      embeddings.map(([length]) => length),
      [3, 5],
    );
  });
});
