/** Ollama's API: its official client, and what the API has of its own. */
import { Ollama } from 'ollama';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StatelessRequest } from '../../../../../src/protocol/gateway-api.ts';
import type { ChatChunk } from '../../../../../src/protocol/agent/provider.ts';
import { ADMIN, CHAT } from '../../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../../client.ts';
import { CALL, linesOf, TOOLS, USAGE } from './light.ts';

let api: OpenApi;
let client: Ollama;
let seen: StatelessRequest[] = [];

beforeEach(async () => {
  api = await openApi();
  client = new Ollama({ host: api.url, headers: { authorization: CHAT } });
  seen = [];
});
afterEach(() => api.close());

/** 12.5 ms. */
const NANOSECONDS = 12_500_000;

function answering(...chunks: ChatChunk[]): void {
  api.gateway.completion = async function* (request) {
    seen.push(request);
    yield* chunks;
    yield { type: 'done', finishReason: 'stop', usage: USAGE };
  };
}

const hello = [{ role: 'user', content: 'hello' }];

const lines = async (path: string, json: object, headers: Record<string, string> = {}) =>
  await linesOf(await api.call(path, { json, headers }));

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

  it('learns in mid-stream that the model failed', async () => {
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
