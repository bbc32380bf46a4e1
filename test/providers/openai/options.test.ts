/** What callers can request of an answer, as sent to an OpenAI-compatible server. */
import { afterEach, describe, expect, it } from 'vitest';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { ChatChunk, ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { createLlamaPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createLlamaPairs();
afterEach(() => pairs.closeAll());

async function sent(more: Partial<ChatRequest>) {
  const { fake, openai } = await pairs.start();
  await collectChat(openai.streamChat(question('hi', more), never));
  return fake.calls[0]?.body;
}

describe('options of a call to an OpenAI-compatible server', () => {
  it('are sent as OpenAI’s API defines them', async () => {
    const tools = [{ name: 'look', description: '', parameters: { type: 'object' }, strict: true }];
    const body = await sent({
      topP: 0.5,
      seed: 7,
      stop: ['END'],
      presencePenalty: 1,
      frequencyPenalty: -1,
      logitBias: { '5': -100 },
      reasoningEffort: 'high',
      format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true },
      tools,
      toolChoice: { name: 'look' },
      parallelToolCalls: false,
      topLogprobs: 2,
    });
    expect(body).toMatchObject({
      top_p: 0.5,
      seed: 7,
      stop: ['END'],
      presence_penalty: 1,
      frequency_penalty: -1,
      logit_bias: { '5': -100 },
      reasoning_effort: 'high',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { type: 'object' }, strict: true },
      },
      tools: [{ type: 'function', function: tools[0] }],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
      logprobs: true,
      top_logprobs: 2,
      chat_template_kwargs: { enable_thinking: true },
    });
    expect((await sent({ toolChoice: 'required', tools }))?.tool_choice).toBe('required');
    expect((await sent({ format: { type: 'json_object' } }))?.response_format).toEqual({
      type: 'json_object',
    });
  });

  it('carry sampling by the names of llama-server and vLLM', async () => {
    const mirostat = { mirostat: 2, mirostatTau: 5, mirostatEta: 0.1 };
    const body = await sent({ topK: 40, minP: 0.05, typicalP: 0.9, repeatPenalty: 1.1, ...mirostat });
    expect(body).toMatchObject({
      top_k: 40,
      min_p: 0.05,
      typical_p: 0.9,
      repeat_penalty: 1.1,
      repetition_penalty: 1.1,
      mirostat: 2,
      mirostat_tau: 5,
      mirostat_eta: 0.1,
    });
  });

  it('are not sent unless requested, because many servers refuse fields they do not know', async () => {
    const known = ['model', 'messages', 'stream', 'stream_options', 'chat_template_kwargs'];
    expect(Object.keys((await sent({})) ?? {}).toSorted()).toEqual(known.toSorted());
  });

  it('switch thinking off with the effort none, whatever the profile says', async () => {
    const off = { chat_template_kwargs: { enable_thinking: false }, reasoning_effort: 'none' };
    expect(await sent({ reasoningEffort: 'none', think: true })).toMatchObject(off);
  });
});

describe('likelihoods of tokens of an OpenAI-compatible server', () => {
  it('arrive with their text', async () => {
    const { fake, openai } = await pairs.start();
    const event = {
      choices: [
        {
          index: 0,
          delta: { content: 'yes' },
          logprobs: { content: [{ token: 'yes', logprob: -0.5, bytes: [121], top_logprobs: [] }] },
        },
      ],
    };
    fake.answer({
      text: [],
      failure: { kind: 'bytes', after: 0, bytes: `data: ${JSON.stringify(event)}\n\n` },
    });
    const chunks: ChatChunk[] = [];
    for await (const chunk of openai.streamChat(question('hi', { topLogprobs: 0 }), never))
      chunks.push(chunk);
    const logprobs = [{ token: 'yes', logprob: -0.5, bytes: [121], top: [] }];
    expect(chunks[0]).toEqual({ type: 'text', delta: 'yes', logprobs });
  });
});
