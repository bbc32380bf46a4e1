/** What the OpenAI-compatible provider requests and how it handles the pieces it receives. */
import { afterEach, describe, expect, it } from 'vitest';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { ChatMessage, ToolSchema } from '../../../src/protocol/agent/provider.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { createLearnedModels } from '../../../src/providers/discovery.ts';
import { createEventReader } from '../../../src/providers/openai/events.ts';
import { createCallMaker } from '../../../src/providers/answers/tool-calls.ts';
import { MAX_CALL_CHARS } from '../../../src/providers/openai/pieces.ts';
import { drain } from '../../contracts/model/provider.ts';
import type { LlamaReply } from '../../fakes/llama-server/reply.ts';
import { readPackets } from '../answers.ts';
import { createLlamaPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createLlamaPairs();
afterEach(() => pairs.closeAll());

const LOOK: ToolSchema = { name: 'look', description: 'Looks.', parameters: { type: 'object' } };

const eventReader = () =>
  createEventReader(createCallMaker(new Map()), (words) => new ProviderError('bad_response', words), {
    from: 'openai/fake',
    habits: createLearnedModels().of('fake'),
  });

async function answerOf(reply: LlamaReply, more: Parameters<typeof question>[1] = {}) {
  const { fake, openai } = await pairs.start();
  fake.answer(reply);
  return collectChat(openai.streamChat(question('hi', more), never));
}

describe('an answer of an OpenAI-compatible server', () => {
  it('joins tool arguments that arrive character by character (N-50)', async () => {
    const args = { path: 'ж/"a".txt', deep: [{ n: 1 }] };
    const toolCalls = [
      { name: 'look', args, id: 'one' },
      { name: 'look', args: {}, id: 'two' },
    ];
    const reply = await answerOf({ text: 'wait', toolCalls }, { tools: [LOOK] });
    expect(reply.toolCalls).toEqual(toolCalls);
    expect(reply.finishReason).toBe('tool_calls');
  });

  it('gives calls with the same id separate ids', async () => {
    const toolCalls = [
      { name: 'look', args: { at: 1 }, id: 'same' },
      { name: 'look', args: { at: 2 }, id: 'same' },
    ];
    const reply = await answerOf({ toolCalls }, { tools: [LOOK] });
    expect(new Set(reply.toolCalls.map((call) => call.id)).size).toBe(2);
  });

  it('marks a call with arguments cut by the token limit as malformed, and reports length', async () => {
    const { fake, openai } = await pairs.start();
    fake.answer({ toolCalls: [{ name: 'look', args: { path: 'far away' } }] });
    const request = question('hi', { tools: [LOOK], maxTokens: 5 });
    const reply = await collectChat(openai.streamChat(request, never));
    expect(reply.finishReason).toBe('length');
    expect(reply.toolCalls).toMatchObject([{ name: 'look', args: {}, malformed: '{"pat' }]);
  });

  it.each(['reasoning_content', 'reasoning'] as const)('reads thinking from %s', async (thinkingIn) => {
    const reply = await answerOf({ thinking: 'let me see', thinkingIn, text: 'so' }, { think: true });
    expect(reply).toMatchObject({ thinking: 'let me see', content: 'so' });
  });

  it('counts usage from the event without choices, and the time the model worked', async () => {
    const { usage } = await answerOf({ text: 'three small words' });
    expect(usage).toEqual({ promptTokens: 5, completionTokens: 3, modelMs: 43 });
  });

  it('is the same from a server that sends it whole: one chunk of each kind (B-10, B-40)', async () => {
    const reply = {
      thinking: 'Let me see.',
      text: 'I look it up.',
      toolCalls: [{ name: 'look', args: { at: 'the sky' } }],
    };
    const streamed = await pairs.start();
    const whole = await pairs.start({ stream: false });
    for (const { fake } of [streamed, whole]) fake.answer(reply);
    const request = question('hi', { think: true });
    const { chunks } = await drain(whole.openai.streamChat(request, never));
    expect(chunks.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_call', 'done']);
    expect((await whole.fake.nextCall()).body).toMatchObject({ stream: false, stream_options: null });
    whole.fake.answer(reply);
    const answers = [streamed, whole].map(({ openai }) => collectChat(openai.streamChat(request, never)));
    const [one, other] = await Promise.all(answers);
    expect(other).toEqual(one);
    whole.fake.answer({ failure: { kind: 'refuse', status: 200, body: '{"choices":7}' } });
    const { error } = await drain(whole.openai.streamChat(request, never));
    expect(error).toMatchObject({ code: 'bad_response' });
  });

  it.each([{ eol: '\r\n' as const }, { comments: true }])('accepts %j', async (style) => {
    expect((await answerOf({ text: 'fine all the same', ...style })).content).toBe('fine all the same');
  });

  it.each(['finish', 'done'] as const)(
    'is complete without its %s, because the other implies it',
    async (part) => {
      expect(await answerOf({ text: 'all of it', failure: { kind: 'without', part } })).toMatchObject({
        content: 'all of it',
        finishReason: 'stop',
      });
    },
  );

  it('ends with [DONE], and a connection that does not end is abandoned', async () => {
    const { fake, openai } = await pairs.start();
    fake.answer({ text: 'all of it', failure: { kind: 'linger' } });
    expect((await collectChat(openai.streamChat(question('hi'), never))).content).toBe('all of it');
    expect((await (await fake.nextCall()).closed).by).toBe('client');
  });

  it('is read by the same rules when an event holds more than text', async () => {
    const rare = [
      { choices: [{ delta: { content: 'a', tool_calls: null, reasoning: null }, finish_reason: null }] },
      { choices: [{ delta: { content: 'b', tool_calls: [] } }], usage: null },
      { choices: [{ delta: { content: 'c', reasoning: '' } }], timings: { prompt_ms: 4 } },
      { choices: [{ delta: { content: null } }, { delta: { content: 'second choice' } }] },
      { choices: [] },
      { choices: [{ delta: { content: 'd' } }], usage: { prompt_tokens: 7 }, error: null },
      { choices: [{ delta: { content: '' } }] },
      { choices: [{ finish_reason: 'stop' }] },
    ];
    const lines = [...rare.map((event) => `data: ${JSON.stringify(event)}`), 'data: [DONE]'];
    const reader = eventReader();
    const { chunks, error } = await readPackets([Buffer.from(lines.join('\n\n'))], reader);
    expect(error).toBeUndefined();
    const usage = { promptTokens: 7, completionTokens: 0, modelMs: 4 };
    expect(chunks).toEqual([
      { type: 'text', delta: 'abcd' },
      { type: 'done', finishReason: 'stop', usage },
    ]);
  });

  it('holds tool calls up to a limit and no further', () => {
    const begin = { index: 0, id: 'a', function: { name: 'f', arguments: '' } };
    const fill = (size: number) => {
      const more = { index: 0, function: { arguments: 'x'.repeat(size) } };
      return `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [begin, more] } }] })}`;
    };
    const half = Math.floor(MAX_CALL_CHARS / 2);
    const full = eventReader();
    expect(full.read(fill(half))).toEqual([]);
    // Three characters of the first fragment and one of each: none of the arguments.
    expect(full.read(fill(MAX_CALL_CHARS - half - 8))).toEqual([]);
    const over = eventReader();
    over.read(fill(half));
    expect(() => over.read(fill(MAX_CALL_CHARS - half - 7))).toThrow(String(MAX_CALL_CHARS));
  });
});

describe('a request to an OpenAI-compatible server', () => {
  it('carries calls and their results as text, with the thought that led to them', async () => {
    const { fake, openai } = await pairs.start();
    const call = { id: 'lookCall1', name: 'look', args: { at: 'a' } };
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'look' },
      { role: 'assistant', content: '', thinking: 'I must look', toolCalls: [call] },
      { role: 'tool', content: 'seen', toolCallId: 'lookCall1', toolName: 'look' },
    ];
    await collectChat(openai.streamChat(question('', { messages, tools: [LOOK] }), never));
    expect(fake.calls[0]?.body.messages[2]).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'I must look',
      tool_calls: [
        { id: 'lookCall1', type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } },
      ],
    });
  });

  it('sends the thinking switch only to a server that supports it (N-31)', async () => {
    const { fake, openai } = await pairs.start();
    await collectChat(openai.streamChat(question('a'), never));
    await collectChat(openai.streamChat(question('b', { think: true }), never));
    fake.change({ models: [{ id: 'other' }] });
    await collectChat(openai.streamChat(question('c', { model: 'other', think: true }), never));
    const asked = fake.calls.map(({ body }) => body.chat_template_kwargs?.enable_thinking);
    expect(asked).toEqual([false, true, undefined]);
  });
});

describe('what is known about a model', () => {
  it.each([
    [{ id: 'fake', meta: { n_ctx: 4_096, n_ctx_train: 131_072 } }, 4_096],
    [{ id: 'org/fake', owned_by: 'vllm', max_model_len: 32_768 }, 32_768],
    [{ id: 'fake:latest', context_length: 65_536 }, 65_536],
    [{ id: 'fake' }, 16_384],
  ])('is its window, from %j (B-25)', async (model, contextWindow) => {
    const { openai } = await pairs.start({}, { models: [{ id: 'first' }, model] });
    expect(await openai.capabilities('fake', never)).toMatchObject({ contextWindow, tools: true });
    expect(await openai.models(never)).toEqual(['first', model.id]);
  });

  it('is requested once, however many ask (B-26)', async () => {
    const { fake, openai } = await pairs.start();
    await Promise.all(Array.from({ length: 50 }, () => openai.capabilities('fake', never)));
    expect(fake.requests).toEqual(['GET /v1/models']);
  });

  it('is assumed when the server lists nothing', async () => {
    const { openai } = await pairs.start({}, { models: [] });
    expect((await collectChat(openai.streamChat(question('hi'), never))).content).toBe('echo: hi');
  });
});
