/** LangChain's ChatOpenAI, over both routes, and its vectors. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
import { startForClients, TOKEN } from './gateway.mjs';

let gateway;
before(async () => void (gateway = await startForClients()));
after(() => gateway.close());

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

    it('gets objects by schema and by function', async () => {
      for (const method of ['jsonSchema', 'functionCalling']) {
        gateway.model.answer('{"city": "Oslo", "people": 1}');
        const structured = make().withStructuredOutput(place, { method, name: 'place' });
        assert.deepEqual(await structured.invoke('a city'), { city: 'Oslo', people: 1 });
      }
    });

    it('is told of an answer that does not match', async () => {
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
