/** Ollama's API: its official client, and the bodies that Home Assistant and Open WebUI send. */
import { Ollama } from 'ollama';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StatelessRequest } from '../../../../../src/contracts/gateway-api.ts';
import type { ChatChunk } from '../../../../../src/contracts/model/provider.ts';
import { ADMIN, CHAT } from '../../../../fakes/gateway/gateway-api.ts';
import { openApi } from '../../client.ts';
import type { OpenApi } from '../../client.ts';

let api: OpenApi;
let client: Ollama;
let seen: StatelessRequest[] = [];

beforeEach(async () => {
  api = await openApi();
  client = new Ollama({ host: api.url, headers: { authorization: CHAT } });
  seen = [];
});
afterEach(() => api.close());

const USAGE = { promptTokens: 7, completionTokens: 3, modelMs: 12.5 };
/** 12.5 ms. */
const NANOSECONDS = 12_500_000;

function answering(...chunks: ChatChunk[]): void {
  api.gateway.completion = async function* (request) {
    seen.push(request);
    yield* chunks;
    yield { type: 'done', finishReason: 'stop', usage: USAGE };
  };
}

const CALL: ChatChunk = {
  type: 'tool_call',
  call: { id: 'abc', name: 'light_on', args: { room: 'kitchen' } },
};
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'light_on',
      description: 'Turns the light on',
      parameters: { type: 'object', properties: { room: { type: 'string' } }, required: ['room'] },
    },
  },
];
const hello = [{ role: 'user', content: 'hello' }];

/** The lines of a streamed answer. */
async function lines(path: string, json: object, headers: Record<string, string> = {}): Promise<any[]> {
  const response = await api.call(path, { json, headers });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the ollama package', () => {
  it('chats, in a stream and whole, with thinking, counts and durations in nanoseconds', async () => {
    answering(
      { type: 'thinking', delta: 'Hm. ' },
      { type: 'text', delta: 'Hi ' },
      { type: 'text', delta: 'you' },
    );
    const parts = [];
    for await (const part of await client.chat({ model: 'default', messages: hello, stream: true }))
      parts.push(part);
    expect(parts.map(({ message, done }) => [message.thinking, message.content, done])).toEqual([
      ['Hm. ', '', false],
      [undefined, 'Hi ', false],
      [undefined, 'you', false],
      [undefined, '', true],
    ]);
    const whole = await client.chat({ model: 'default:latest', messages: hello });
    expect(whole).toMatchObject({
      model: 'default:latest',
      message: { role: 'assistant', content: 'Hi you', thinking: 'Hm. ' },
      done: true,
      done_reason: 'stop',
      total_duration: NANOSECONDS,
      eval_duration: NANOSECONDS,
      prompt_eval_count: 7,
      eval_count: 3,
    });
    expect(Date.now() - Date.parse(String(whole.created_at))).toBeLessThan(10_000);
    expect(seen.map(({ model }) => model)).toEqual(['default', 'default']);
  });

  it('generates from a prompt, with a system text and pictures', async () => {
    answering({ type: 'text', delta: 'A cat' });
    const images = [new Uint8Array([1, 2, 3])];
    const whole = await client.generate({
      model: 'tiny:1b',
      prompt: 'What is it?',
      system: 'Be short.',
      images,
    });
    expect(whole).toMatchObject({ response: 'A cat', done: true, done_reason: 'stop' });
    const parts = [];
    for await (const part of await client.generate({ model: 'tiny:1b', prompt: 'And?', stream: true }))
      parts.push(part.response);
    expect(parts).toEqual(['A cat', '']);
    expect(seen[0]?.messages).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'What is it?', files: [{ name: 'image-2', base64: 'AQID' }] },
    ]);
  });

  it('lists the models with a tag each, and describes one', async () => {
    const { models } = await client.list();
    expect(models.map(({ model }) => model)).toEqual(['default:latest', 'tiny:1b']);
    expect(await client.show({ model: 'default:latest' })).toMatchObject({
      capabilities: ['completion', 'tools', 'thinking', 'vision'],
      model_info: { 'general.architecture': 'parley', 'parley.context_length': 8_192 },
    });
    expect(await client.ps()).toEqual({ models: [] });
    expect(await client.version()).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  });

  it('calls tools, and answers with their results', async () => {
    answering(CALL);
    const first = await client.chat({ model: 'default', messages: hello, tools: TOOLS });
    expect(first.message.tool_calls).toEqual([
      { id: 'abc', function: { index: 0, name: 'light_on', arguments: { room: 'kitchen' } } },
    ]);
    const result = { role: 'tool', content: 'on', tool_name: 'light_on' };
    await client.chat({ model: 'default', messages: [...hello, first.message, result], tools: TOOLS });
    expect(seen[1]?.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'abc', name: 'light_on', args: { room: 'kitchen' } }],
      },
      { role: 'tool', content: 'on', toolCallId: 'abc', toolName: 'light_on' },
    ]);
  });

  it('makes vectors', async () => {
    const { embeddings } = await client.embed({ model: 'tiny:1b', input: ['a', 'bcd'] });
    expect(embeddings).toEqual([
      [1, 0.1],
      [3, 0.1],
    ]);
    expect((await client.embed({ model: 'tiny:1b', input: [] })).embeddings).toEqual([]);
    expect(await client.embeddings({ model: 'tiny:1b', prompt: 'ab' })).toEqual({ embedding: [2, 0.1] });
  });

  it('reads why a request failed, with its status', async () => {
    await expect(
      client.chat({ model: 'nothing', messages: [{ role: 'robot', content: 'x' }] }),
    ).rejects.toThrow(/role/);
    const stranger = new Ollama({ host: api.url, headers: { authorization: 'Bearer wrong' } });
    await expect(stranger.list()).rejects.toMatchObject({
      status_code: 401,
      error: expect.stringMatching(/token/i),
    });
    await expect(client.show({ model: 'nothing' })).rejects.toMatchObject({ status_code: 404 });
  });

  it('is told in mid-stream that the model failed', async () => {
    api.gateway.completion = async function* () {
      yield { type: 'text', delta: 'Hi' };
      throw new Error('broken');
    };
    const read = async () => {
      for await (const _ of await client.chat({ model: 'default', messages: hello, stream: true }));
    };
    await expect(read()).rejects.toThrow(/Internal error/);
    expect((await lines('/api/chat', { messages: hello })).at(-1)).toEqual({
      error: expect.stringMatching(/Internal error/),
    });
  });
});

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
    expect(read[0].message.tool_calls[0].function).toEqual({
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

describe('a request', () => {
  it('needs no content type, as curl sends it', async () => {
    answering({ type: 'text', delta: 'Hi' });
    const response = await fetch(`${api.url}/api/chat`, {
      method: 'POST',
      headers: { authorization: ADMIN, 'content-type': 'application/x-www-form-urlencoded' },
      body: JSON.stringify({ model: 'default', messages: hello, stream: false }),
    });
    expect([response.status, (await response.json()).message.content]).toEqual([200, 'Hi']);
  });

  it.each([
    ['GET', '/api/tags', 401],
    ['GET', '/api/version', 401],
    ['POST', '/api/chat', 401],
    ['POST', '/api/generate', 401],
    ['POST', '/api/show', 401],
    ['GET', '/api/ps', 401],
    ['POST', '/api/embed', 401],
    ['GET', '/api/nothing', 404],
    ['GET', '/api/chat', 405],
  ])('without a token to %s %s is %i in the shape of Ollama', async (method, path, status) => {
    const response = await fetch(api.url + path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.stringMatching(/\w/) });
  });

  it.each([
    ['suffix', 'end'],
    ['template', '{{ .Prompt }}'],
    ['context', [1, 2]],
    ['raw', true],
  ])('to generate with %s is refused by name', async (name, value) => {
    const response = await api.call('/api/generate', { json: { prompt: 'x', [name]: value } });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.stringContaining(`"${name}"`) },
    ]);
  });

  it('in a session is a message of that session, and its turn is the answer', async () => {
    const headers = { 'x-session-id': 'home' };
    const read = await lines('/api/chat', { messages: hello }, headers);
    expect(read.map(({ message }) => message.content).join('')).toBe('You said: hello');
    expect(read.at(-1)).toMatchObject({ done: true, done_reason: 'stop' });
    const { messages } = await (await api.call('/v1/sessions/http:home/messages')).json();
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
  });

  it('that is repeated under its Idempotency-Key gets the same bytes', async () => {
    answering({ type: 'text', delta: 'Hi' });
    const ask = async () =>
      await (
        await api.call('/api/chat', { json: { messages: hello }, headers: { 'idempotency-key': 'k' } })
      ).text();
    expect(await ask()).toBe(await ask());
    expect(seen).toHaveLength(1);
  });
});
