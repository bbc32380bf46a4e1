/** LangChain's ChatOpenAI, over both routes, and its vectors. */
import assert from 'node:assert/strict';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { z } from 'zod';
import { startForClients, TOKEN } from './gateway.mjs';

let gateway;
beforeAll(async () => void (gateway = await startForClients()));
afterAll(() => gateway.close());

const place = z.object({ city: z.string(), people: z.number() });
const look = tool(({ at }) => `a cat at ${at}`, {
  name: 'look',
  description: 'Looks at a place.',
  schema: z.object({ at: z.string() }),
});

for (const useResponsesApi of [false, true]) {
  describe(`LangChain, ${useResponsesApi ? 'responses' : 'chat completions'}`, () => {
    const make = () =>
      new ChatOpenAI({
        model: 'default',
        apiKey: TOKEN,
        configuration: { baseURL: gateway.baseURL },
        maxRetries: 0,
        useResponsesApi,
      });

    it('answers, and streams', async () => {
      gateway.model.answer('Hello.');
      assert.equal((await make().invoke('hi')).text, 'Hello.');
      gateway.model.answer({ text: ['Hello ', 'again.'] });
      let text = '';
      for await (const chunk of await make().stream('hi')) text += chunk.text;
      assert.equal(text, 'Hello again.');
    });

    it('calls tools, and goes on with their results', async () => {
      const model = make().bindTools([look]);
      gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
      const question = new HumanMessage('where is it?');
      const asked = await model.invoke([question]);
      assert.deepEqual(
        asked.tool_calls.map(({ name, args }) => [name, args]),
        [['look', { at: 'home' }]],
      );
      const result = await look.invoke(asked.tool_calls[0]);
      assert.ok(result instanceof ToolMessage);
      gateway.model.answer((body) => `I see ${body.messages.at(-1).content}.`);
      assert.equal((await model.invoke([question, asked, result])).text, 'I see a cat at home.');
    });

    it('has a second turn with the messages of the first', async () => {
      const model = make().bindTools([look]);
      gateway.model.answer({ thinking: 'Hm.', toolCalls: [{ name: 'look', args: { at: 'home' } }] });
      const messages = [new HumanMessage('where is it?')];
      messages.push(await model.invoke(messages));
      messages.push(await look.invoke(messages.at(-1).tool_calls[0]));
      gateway.model.answer('At home.');
      messages.push(await model.invoke(messages));
      messages.push(new HumanMessage('and now?'));
      gateway.model.answer((body) => body.messages.map(({ role }) => role).join());
      assert.equal((await model.invoke(messages)).text, 'user,assistant,tool,assistant,user');
    });

    it('gets objects by schema and by function', async () => {
      for (const method of ['jsonSchema', 'functionCalling']) {
        gateway.model.answer('{"city": "Oslo", "people": 1}');
        const structured = make().withStructuredOutput(place, { method, name: 'place' });
        assert.deepEqual(await structured.invoke('a city'), { city: 'Oslo', people: 1 });
      }
    });

    it('is told of an answer that does not match', async () => {
      // The gateway asks the model once more.
      gateway.model.answer('Oslo is nice.');
      gateway.model.answer('Oslo is nice.');
      const structured = make().withStructuredOutput(place, { method: 'jsonSchema', name: 'place' });
      await assert.rejects(structured.invoke('a city'), /not have the requested form/);
    });
  });
}

describe('LangChain', () => {
  it('gets vectors', async () => {
    const vectors = new OpenAIEmbeddings({
      model: 'fake',
      apiKey: TOKEN,
      configuration: { baseURL: gateway.baseURL },
    });
    assert.equal((await vectors.embedQuery('one'))[0], 3);
    assert.deepEqual(
      (await vectors.embedDocuments(['one', 'three'])).map(([length]) => length),
      [3, 5],
    );
  });
});
