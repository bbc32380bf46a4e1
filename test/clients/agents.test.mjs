/** OpenAI's Agents SDK, over both routes. */
import assert from 'node:assert/strict';
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { z } from 'zod';
import { startForClients, TOKEN } from './gateway.mjs';

setTracingDisabled(true);
let gateway;
beforeAll(async () => void (gateway = await startForClients()));
afterAll(() => gateway.close());

const look = tool({
  name: 'look',
  description: 'Looks at a place.',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => `a cat at ${at}`,
});
const place = z.object({ city: z.string(), people: z.number() });

for (const Model of [OpenAIChatCompletionsModel, OpenAIResponsesModel]) {
  describe(`the Agents SDK, ${Model.name}`, () => {
    const agent = (more) => {
      const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN, maxRetries: 0 });
      return new Agent({
        name: 'Finder',
        instructions: 'Find it.',
        model: new Model(client, 'default'),
        ...more,
      });
    };

    it('runs its tools, whole and streamed', async () => {
      for (const stream of [false, true]) {
        gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
        gateway.model.answer((body) => `I see ${body.messages.at(-1).content}.`);
        const result = await run(agent({ tools: [look] }), 'where is it?', { stream });
        if (stream) await result.completed;
        assert.equal(result.finalOutput, 'I see a cat at home.');
        assert.equal(gateway.model.calls.at(-1).body.messages[0].content, 'Find it.');
      }
    });

    it('has a second turn with its history, tools in both', async () => {
      for (const stream of [false, true]) {
        gateway.model.answer({ thinking: 'Hm.', toolCalls: [{ name: 'look', args: { at: 'home' } }] });
        gateway.model.answer({ thinking: 'Hm.', text: 'At home.' });
        const first = await run(agent({ tools: [look] }), 'where is it?', { stream });
        if (stream) await first.completed;
        gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'work' } }] });
        gateway.model.answer((body) => body.messages.map(({ role }) => role).join());
        const input = [...first.history, { role: 'user', content: 'and now?' }];
        const second = await run(agent({ tools: [look] }), input, { stream });
        if (stream) await second.completed;
        assert.equal(second.finalOutput, 'system,user,assistant,tool,assistant,user,assistant,tool');
      }
    });

    it('is obeyed when a tool must be called', async () => {
      gateway.model.answer('{"at": "home"}');
      gateway.model.answer('Done.');
      const result = await run(agent({ tools: [look], modelSettings: { toolChoice: 'required' } }), 'where?');
      assert.equal(result.finalOutput, 'Done.');
      assert.ok(result.newItems.some(({ type }) => type === 'tool_call_output_item'));
    });

    it('gets an object of its schema', async () => {
      gateway.model.answer('{"city": "Oslo", "people": 1}');
      const result = await run(agent({ outputType: place }), 'a city');
      assert.deepEqual(result.finalOutput, { city: 'Oslo', people: 1 });
    });

    it('hands over to another agent', async () => {
      const other = agent({ name: 'Expert' });
      gateway.model.answer({ toolCalls: [{ name: 'transfer_to_Expert', args: {} }] });
      gateway.model.answer('I am the expert.');
      const result = await run(agent({ handoffs: [other] }), 'help');
      assert.equal(result.finalOutput, 'I am the expert.');
    });
  });
}

describe('the Agents SDK, OpenAIResponsesModel', () => {
  it('continues a response by its id', async () => {
    const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: TOKEN, maxRetries: 0 });
    const agent = new Agent({
      name: 'Finder',
      model: new OpenAIResponsesModel(client, 'default'),
      tools: [look],
    });
    gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
    gateway.model.answer('At home.');
    const first = await run(agent, 'where is it?');
    gateway.model.answer((body) => body.messages.map(({ role }) => role).join());
    const second = await run(agent, 'and now?', { previousResponseId: first.lastResponseId });
    assert.equal(second.finalOutput, 'user,assistant,tool,assistant,user');
  });
});
