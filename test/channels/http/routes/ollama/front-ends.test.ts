/** The bodies that Home Assistant and Open WebUI send to Ollama. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StatelessRequest } from '../../../../../src/protocol/gateway-api.ts';
import type { ChatChunk } from '../../../../../src/protocol/agent/provider.ts';
import { openApi, type OpenApi } from '../../client.ts';
import { CALL, linesOf, TOOLS, USAGE } from './light.ts';

let api: OpenApi;
let seen: StatelessRequest[] = [];

beforeEach(async () => {
  api = await openApi();
  seen = [];
});
afterEach(() => api.close());

function answering(...chunks: ChatChunk[]): void {
  api.gateway.completion = async function* (request) {
    seen.push(request);
    yield* chunks;
    yield { type: 'done', finishReason: 'stop', usage: USAGE };
  };
}

const hello = [{ role: 'user', content: 'hello' }];
const lines = async (path: string, json: object) => await linesOf(await api.call(path, { json }));

describe('the requests of Home Assistant', () => {
  // home-assistant/core, components/ollama/entity.py: tool calls without ids, results without a name.
  const body = {
    model: 'default:latest',
    stream: true,
    tools: TOOLS,
    keep_alive: '-1s',
    options: { num_ctx: 8192 },
    think: false,
    format: null,
  };

  it('are answered in a stream, also with two rounds of tools whose results name nothing', async () => {
    answering(CALL);
    const calls = [
      { function: { name: 'light_on', arguments: { room: 'kitchen' } } },
      { function: { name: 'light_on', arguments: { room: 'hall' } } },
    ];
    const result = (data: string) => ({ role: 'tool', content: JSON.stringify({ data, error: null }) });
    const messages = [
      { role: 'system', content: 'You are a voice assistant.' },
      ...hello,
      { role: 'assistant', content: '', tool_calls: calls },
      result('one'),
      result('two'),
      { role: 'assistant', content: null, tool_calls: calls.slice(0, 1) },
      result('three'),
    ];
    const read = await lines('/api/chat', { ...body, messages });
    expect(read[0]?.message.tool_calls?.[0]?.function).toEqual({
      index: 0,
      name: 'light_on',
      arguments: { room: 'kitchen' },
    });
    expect(read.at(-1)).toMatchObject({ done: true, done_reason: 'stop' });
    const ids = seen[0]?.messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : []));
    expect(ids).toEqual(['call_2_0', 'call_2_1', 'call_5_0']);
    expect(seen[0]?.options?.think).toBe(false);
  });

  it('may ask for JSON of a schema', async () => {
    answering({ type: 'text', delta: '{"a":1}' });
    const schema = { type: 'object', properties: { a: { type: 'integer' } } };
    await lines('/api/chat', { ...body, tools: null, messages: hello, format: schema });
    await lines('/api/chat', { ...body, tools: null, messages: hello, format: 'json' });
    expect(seen.map(({ options }) => options?.format)).toEqual([
      { type: 'json_schema', name: 'answer', schema },
      { type: 'json_object' },
    ]);
  });
});

describe('the requests of Open WebUI', () => {
  it('load and unload a model without asking it', async () => {
    answering();
    const loading = async (path: string, json: object) => await (await api.call(path, { json })).json();
    expect(
      await loading('/api/generate', { model: 'tiny:1b', keep_alive: 0, prompt: '', stream: false }),
    ).toMatchObject({
      response: '',
      done: true,
      done_reason: 'unload',
    });
    expect(await loading('/api/chat', { model: 'tiny:1b', messages: [] })).toMatchObject({
      message: { role: 'assistant', content: '' },
      done_reason: 'load',
    });
    expect((await api.call('/api/chat', { json: { model: 'nothing', messages: [] } })).status).toBe(404);
    expect(seen).toEqual([]);
  });

  it('pass on options of sampling, and those of the machine have no effect', async () => {
    answering({ type: 'text', delta: 'x' });
    const options = { temperature: 0.5, top_k: 20, num_predict: 64, stop: ['END'], num_gpu: 3, seed: 4 };
    await lines('/api/chat', { messages: hello, options, unknown_field: true });
    expect(seen[0]?.options).toEqual({ temperature: 0.5, topK: 20, maxTokens: 64, stop: ['END'], seed: 4 });
  });
});
