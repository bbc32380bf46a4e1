/** The `ollama` package: chats, tools, pictures, forms and vectors over the gateway's Ollama API. */
import assert from 'node:assert/strict';
import { Ollama } from 'ollama';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { PICTURE, startForClients, TOKEN } from './gateway.mjs';

let gateway;
let ollama;
beforeAll(async () => {
  gateway = await startForClients();
  const host = gateway.baseURL.replace(/\/v1$/, '');
  ollama = new Ollama({ host, headers: { Authorization: `Bearer ${TOKEN}` } });
});
afterAll(() => gateway.close());

const model = 'default:latest';
const messages = [{ role: 'user', content: 'where is it?' }];
const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
const tools = [
  { type: 'function', function: { name: 'look', description: 'Looks at a place.', parameters } },
];

describe('the ollama package', () => {
  it('chats, whole and in a stream, with counts and durations', async () => {
    gateway.model.answer('On the table.');
    const whole = await ollama.chat({ model, messages });
    assert.equal(whole.message.content, 'On the table.');
    assert.equal(whole.done_reason, 'stop');
    assert.ok(whole.eval_count > 0 && whole.prompt_eval_count > 0 && whole.total_duration > 0);
    gateway.model.answer({ thinking: 'Hm.', text: ['On ', 'the ', 'chair.'] });
    let [text, thinking, last] = ['', '', undefined];
    for await (const part of await ollama.chat({ model, messages, stream: true, think: true })) {
      text += part.message.content;
      thinking += part.message.thinking ?? '';
      last = part;
    }
    assert.deepEqual([text, thinking, last.done], ['On the chair.', 'Hm.', true]);
  });

  it('runs tools, and has a second turn with their results', async () => {
    gateway.model.answer({ toolCalls: [{ name: 'look', args: { at: 'home' } }] });
    const first = await ollama.chat({ model, messages, tools });
    const [call] = first.message.tool_calls;
    assert.deepEqual([call.function.name, call.function.arguments], ['look', { at: 'home' }]);
    gateway.model.answer((body) => body.messages.map(({ role }) => role).join());
    const result = { role: 'tool', tool_name: 'look', content: 'a cat' };
    const second = await ollama.chat({ model, messages: [...messages, first.message, result], tools });
    assert.equal(second.message.content, 'user,assistant,tool');
  });

  it('shows pictures', async () => {
    gateway.model.answer((body) => `${body.messages.at(-1).images.length} picture`);
    const seen = [{ role: 'user', content: 'what is it?', images: [PICTURE] }];
    assert.equal((await ollama.chat({ model, messages: seen })).message.content, '1 picture');
  });

  it('asks for JSON of a schema', async () => {
    gateway.model.answer('{"city": "Oslo"}');
    const format = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const { message } = await ollama.chat({ model, messages, format });
    assert.deepEqual(JSON.parse(message.content), { city: 'Oslo' });
  });

  it('generates from a prompt, with options', async () => {
    gateway.model.answer((body) => `${body.options.temperature} ${body.options.num_predict}`);
    const options = { temperature: 0.5, num_predict: 20, num_ctx: 4096 };
    const { response } = await ollama.generate({ model, prompt: 'Say it.', system: 'Be brief.', options });
    assert.equal(response, '0.5 20');
  });

  it('lists, shows and loads models', async () => {
    const names = (await ollama.list()).models.map((one) => one.model);
    assert.ok(names.includes('default:latest') && names.every((name) => name.includes(':')));
    assert.ok((await ollama.show({ model })).capabilities.includes('completion'));
    assert.deepEqual((await ollama.ps()).models, []);
    assert.equal((await ollama.generate({ model, prompt: '', keep_alive: 0 })).done_reason, 'unload');
  });

  it('is told what went wrong, with a status', async () => {
    await assert.rejects(ollama.chat({ model: 'nothing:1b', messages }), { status_code: 404 });
    const stranger = new Ollama({ host: gateway.baseURL.replace(/\/v1$/, '') });
    await assert.rejects(stranger.list(), { status_code: 401 });
  });
});
