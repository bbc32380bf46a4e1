/** What callers can request of an answer, as sent to Ollama: sampling, response format, effort, likelihoods. */
import { afterEach, describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH } from '../../../src/lib/json/json.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { lastNote } from '../../fakes/model/spoken-text.ts';
import type { ChatChunk, ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { readCapabilities, toWire } from '../../../src/providers/ollama/wire.ts';
import { createPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createPairs();
afterEach(() => pairs.closeAll());

async function sent(more: Partial<ChatRequest>) {
  const { fake, ollama } = await pairs.start();
  await collectChat(ollama.streamChat(question('hi', more), never));
  return fake.calls[0]?.body;
}

describe('options of a call to Ollama', () => {
  it('are sent under the server’s names, and only when they are given', async () => {
    const body = await sent({
      topP: 0.5,
      seed: 7,
      stop: ['END'],
      presencePenalty: 1,
      frequencyPenalty: -1,
      maxTokens: 5,
      temperature: 0,
    });
    expect(body?.options).toEqual({
      num_ctx: 8_192,
      num_predict: 5,
      temperature: 0,
      top_p: 0.5,
      seed: 7,
      stop: ['END'],
      presence_penalty: 1,
      frequency_penalty: -1,
    });
    const plain = await sent({});
    expect(plain?.options).toEqual({ num_ctx: 8_192 });
    for (const field of ['format', 'logprobs', 'top_logprobs']) expect(plain).not.toHaveProperty(field);
  });

  it('carry sampling that only some servers know', async () => {
    const body = await sent({ topK: 40, minP: 0.05, typicalP: 0.9, repeatPenalty: 1.1, repeatLastN: 64 });
    expect(body?.options).toEqual({
      num_ctx: 8_192,
      top_k: 40,
      min_p: 0.05,
      typical_p: 0.9,
      repeat_penalty: 1.1,
      repeat_last_n: 64,
    });
  });

  it('restrict the answer to JSON or to a schema', async () => {
    expect((await sent({ format: { type: 'json_object' } }))?.format).toBe('json');
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    expect((await sent({ format: { type: 'json_schema', name: 'x', schema } }))?.format).toEqual(schema);
  });

  it.each([
    ['none', false, false],
    ['minimal', false, 'low'],
    ['low', true, 'low'],
    ['medium', true, 'medium'],
    ['xhigh', true, 'high'],
  ] as const)(
    'turn the effort %s into thinking: %s, or %s for a model with levels',
    (effort, plain, leveled) => {
      const can = { contextWindow: 8_192, tools: true, thinking: true, vision: false };
      const request = question('hi', { reasoningEffort: effort, think: true });
      expect(toWire(request, can).think).toBe(plain);
      expect(toWire(request, { ...can, thinkingLevels: true }).think).toBe(leveled);
    },
  );

  it('know which models think by levels, and that the server knows no biases', () => {
    const shown = (architecture: string) => ({
      model_info: { 'general.architecture': architecture },
      capabilities: ['completion', 'thinking'],
    });
    expect(readCapabilities(shown('gptoss'))).toMatchObject({
      thinkingLevels: true,
      unsupported: ['logitBias'],
    });
    expect(readCapabilities(shown('qwen3'))).toMatchObject({ thinkingLevels: false });
    expect(readCapabilities({ capabilities: [] }).unsupported).toEqual(['logitBias', 'reasoningEffort']);
  });
});

describe('likelihoods of tokens', () => {
  it('are requested, and arrive with their text', async () => {
    const { fake, ollama } = await pairs.start();
    const logprobs = [
      { token: 'yes', logprob: -0.1, top_logprobs: [{ token: 'no', logprob: -2, bytes: [110] }] },
    ];
    fake.answer({ text: ['yes'], extra: { logprobs } });
    const chunks: ChatChunk[] = [];
    for await (const chunk of ollama.streamChat(question('hi', { topLogprobs: 1 }), never))
      chunks.push(chunk);
    expect(fake.calls[0]?.body).toMatchObject({ logprobs: true, top_logprobs: 1 });
    const top = [{ token: 'no', logprob: -2, bytes: [110] }];
    expect(chunks[0]).toEqual({
      type: 'text',
      delta: 'yes',
      logprobs: [{ token: 'yes', logprob: -0.1, bytes: null, top }],
    });
  });

  it('are left out when the server sends none, and never read when not requested', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer({ text: ['yes'] });
    fake.answer({ text: ['yes'], extra: { logprobs: [{ token: 'yes', logprob: -0.1 }] } });
    for (const more of [{ topLogprobs: 0 }, {}]) {
      const chunks: ChatChunk[] = [];
      for await (const chunk of ollama.streamChat(question('hi', more), never)) chunks.push(chunk);
      expect(chunks[0]).toEqual({ type: 'text', delta: 'yes' });
    }
  });
});

describe('a required tool call', () => {
  const look = {
    name: 'look',
    description: 'Looks.',
    parameters: {
      type: 'object',
      properties: { at: { $ref: '#/$defs/place' } },
      $defs: { place: { type: 'string' } },
    },
  };
  const wait = { name: 'wait', description: 'Waits.', parameters: { type: 'object', properties: {} } };

  it('is the answer in the format of its arguments when there is only one tool or it is named', async () => {
    const { fake, ollama } = await pairs.start();
    for (const toolChoice of [{ name: 'look' }, 'required'] as const) {
      fake.answer({ text: ['{"at": ', '"home"}'] });
      const tools = toolChoice === 'required' ? [look] : [wait, look];
      const reply = await collectChat(ollama.streamChat(question('hi', { tools, toolChoice }), never));
      expect(reply).toMatchObject({ content: '', finishReason: 'tool_calls' });
      expect(reply.toolCalls).toEqual([
        { id: expect.stringMatching(/^call_/), name: 'look', args: { at: 'home' } },
      ]);
      const body = fake.calls.at(-1)?.body;
      expect(body?.format).toEqual({ type: 'object', properties: { at: { type: 'string' } } });
      expect(body).not.toHaveProperty('tools');
      expect(body === undefined ? '' : lastNote(body)).toMatch(/^Call the tool "look" now\./);
    }
  });

  it('names its tool among several, each with its arguments in place', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer('{"name": "look", "arguments": {"at": "home"}}');
    const request = question('hi', { tools: [wait, look], toolChoice: 'required' });
    const { toolCalls } = await collectChat(ollama.streamChat(request, never));
    expect(toolCalls).toMatchObject([{ name: 'look', args: { at: 'home' } }]);
    expect(fake.calls[0]?.body.format).toMatchObject({
      anyOf: [
        { properties: { name: { const: 'wait' } } },
        {
          properties: {
            name: { const: 'look' },
            arguments: { properties: { at: { type: 'string' } } },
          },
        },
      ],
    });
  });

  it('rejects arguments that are nested too deeply', async () => {
    const { fake, ollama } = await pairs.start();
    const deep = `{"at": ${'['.repeat(MAX_JSON_DEPTH)}${']'.repeat(MAX_JSON_DEPTH)}}`;
    fake.answer(deep);
    const named = question('hi', { tools: [look], toolChoice: { name: 'look' } });
    const { toolCalls } = await collectChat(ollama.streamChat(named, never));
    expect(toolCalls).toMatchObject([{ name: 'look', args: {}, malformed: expect.any(String) }]);
  });

  it('keeps the text of truncated arguments, and fails without any call', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer({ text: '{"at": "ho', doneReason: 'length' });
    const named = question('hi', { tools: [look], toolChoice: { name: 'look' } });
    const reply = await collectChat(ollama.streamChat(named, never));
    expect(reply.finishReason).toBe('length');
    expect(reply.toolCalls).toMatchObject([{ name: 'look', args: {}, malformed: '{"at": "ho' }]);
    fake.answer('I would rather not.');
    const any = question('hi', { tools: [wait, look], toolChoice: 'required' });
    await expect(collectChat(ollama.streamChat(any, never))).rejects.toMatchObject({ code: 'bad_response' });
    const unknown = question('hi', { tools: [wait], toolChoice: { name: 'look' } });
    await expect(async () => collectChat(ollama.streamChat(unknown, never))).rejects.toMatchObject({
      code: 'bad_request',
    });
  });
});
