/** A kind of model server from a plug-in: what it streams arrives, and what breaks the contract ends in a word. */
import { describe, expect, it } from 'vitest';
import { createHostedProvider } from '../../src/plugins/provider.ts';
import type { ChatChunk, ChatRequest, LLMProvider } from '../../src/protocol/agent/provider.ts';
import { openToy } from './harness.ts';

const SOURCE = `export function provider() {
  const usage = { promptTokens: 3, completionTokens: 2 };
  return {
    models: async ({ baseUrl }) => [baseUrl + ' model'],
    capabilities: async () => ({ contextWindow: 4096, tools: true, thinking: false, vision: false }),
    embed: async (_server, { input }) => ({ vectors: input.map(() => [1, 2]), promptTokens: 1 }),
    async *streamChat(_server, { messages, model }, signal) {
      const last = messages.at(-1).content;
      if (last === 'refuse') throw Object.assign(new Error('no such model'), { code: 'unknown_model' });
      if (last === 'wait') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (last === 'nonsense') yield { type: 'text', delta: 7 };
      for (const delta of [model, ': ', last]) yield { type: 'text', delta };
      if (last !== 'cut') yield { type: 'done', finishReason: 'stop', usage };
    },
  };
}`;

async function open(): Promise<LLMProvider> {
  const { process } = await openToy({ provider: {} }, SOURCE);
  const server = { name: 'lab', baseUrl: 'http://127.0.0.1:9' };
  return createHostedProvider(server, (...args) => process.call(...args));
}

async function chat(provider: LLMProvider, content: string, signal = AbortSignal.timeout(20_000)) {
  const request: ChatRequest = { model: 'm', messages: [{ role: 'user', content }], contextWindow: 4_096 };
  const chunks: ChatChunk[] = [];
  for await (const chunk of provider.streamChat(request, signal)) chunks.push(chunk);
  return chunks;
}

describe('a model server of a plug-in', () => {
  it('lists its models, says what they can do, streams answers and makes vectors', async () => {
    const provider = await open();
    const signal = AbortSignal.timeout(20_000);
    expect(await provider.models(signal)).toEqual(['http://127.0.0.1:9 model']);
    expect(await provider.capabilities('m', signal)).toMatchObject({ contextWindow: 4_096, tools: true });
    expect(await provider.embed({ model: 'm', input: ['a', 'b'] }, signal)).toMatchObject({
      vectors: [
        [1, 2],
        [1, 2],
      ],
    });
    const chunks = await chat(provider, 'hello');
    expect(chunks.flatMap((one) => (one.type === 'text' ? [one.delta] : [])).join('')).toBe('m: hello');
    expect(chunks.at(-1)).toMatchObject({
      type: 'done',
      finishReason: 'stop',
      usage: { completionTokens: 2 },
    });
  });

  it.each([
    ['refuse', 'unknown_model'],
    ['nonsense', 'bad_response'],
    ['cut', 'bad_response'],
  ])('ends an answer to "%s" with %s', async (content, code) => {
    await expect(chat(await open(), content)).rejects.toMatchObject({ name: 'ProviderError', code });
  });

  it('stops when its caller does', async () => {
    const stop = new AbortController();
    const provider = await open();
    await provider.models(stop.signal);
    const answer = chat(provider, 'wait', stop.signal);
    stop.abort();
    await expect(answer).rejects.toMatchObject({ code: 'aborted' });
  });
});
