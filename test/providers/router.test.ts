/** Two model servers behind one provider: which one a name refers to, and how an outage of one affects the other. */
import { afterEach, describe, expect, it } from 'vitest';
import { collectChat } from '../fakes/agent/collect-chat.ts';
import type { LLMProvider } from '../../src/protocol/agent/provider.ts';
import { providerKinds } from '../../src/providers/index.ts';
import { configureServers, createModelNames } from '../../src/providers/servers.ts';
import { createOllama } from '../../src/providers/ollama/ollama.ts';
import { createRouter } from '../../src/providers/router.ts';
import { providerContract } from '../contracts/model/provider.ts';
import { startFakeLlama } from '../fakes/llama-server/llama-server.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { startRawServer } from '../fakes/network/raw-server.ts';
import { toReply } from './ollama/setup.ts';
import { never, question } from './request.ts';
import { harnessOf } from './harness.ts';
import { OLLAMA_SERVER, openRouter } from './servers.ts';

describe('the router over two servers', () => {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const thing of open.splice(0).toReversed()) await thing.close();
  });

  async function start() {
    const ollama = await startFakeOllama({ fallback: 'I am Ollama' });
    const llama = await startFakeLlama();
    const router = await openRouter({ OLLAMA_HOST: ollama.url, OPENAI_BASE_URL: llama.url });
    open.push(ollama, llama, router);
    return { ollama, llama, router };
  }
  const ask = async (router: LLMProvider, model: string): Promise<string> =>
    (await collectChat(router.streamChat(question('who are you?', { model }), never))).content;

  it('contacts a server only when one of its models is requested (S-49)', async () => {
    const { ollama, llama, router } = await start();
    expect(await ask(router, 'fake')).toBe('I am Ollama');
    expect(llama.requests).toEqual([]);
    const before = ollama.requests.length;
    llama.answer('I am llama-server');
    expect(await ask(router, 'openai/fake')).toBe('I am llama-server');
    expect(ollama.requests).toHaveLength(before);
  });

  it('lists the models of both, or of the one that answers when the other is down', async () => {
    const { ollama, llama, router } = await start();
    const ollamas = ['fake:latest', 'plain:latest'];
    expect(await router.models(never)).toEqual([...ollamas, 'openai/fake']);
    expect(await router.models(never, 'openai/x')).toEqual(['openai/fake']);
    expect(await router.models(never, 'x')).toEqual(ollamas);
    await llama.close();
    expect(await router.models(never)).toEqual(ollamas);
    await expect(router.models(never, 'openai/x')).rejects.toMatchObject({ code: 'unavailable' });
    await ollama.close();
    await expect(router.models(never)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('does not wait for a server that hangs', async () => {
    const ollama = await startFakeOllama();
    const mute = await startRawServer();
    const env = { OLLAMA_HOST: ollama.url, OPENAI_BASE_URL: `${mute.url}/v1` };
    const router = await openRouter(env, 200);
    open.push(mute, ollama, router);
    expect(await router.models(never)).toEqual(['fake:latest', 'plain:latest']);
  });

  it('names the variable of a server that is not configured, and continues with the one that is (S-43)', async () => {
    const ollama = await startFakeOllama({ fallback: 'I am Ollama' });
    const router = await openRouter({ OLLAMA_HOST: ollama.url });
    open.push(ollama, router);
    await expect(ask(router, 'openai/gpt')).rejects.toThrow(/"openai\/gpt".*OPENAI_BASE_URL/);
    await expect(router.capabilities('openai/gpt', never)).rejects.toMatchObject({ code: 'unknown_model' });
    await expect(router.models(never, 'openai/gpt')).rejects.toThrow('OPENAI_BASE_URL');
    expect(await ask(router, 'fake')).toBe('I am Ollama');
  });
});

providerContract('router', async () => {
  const fake = await startFakeOllama();
  const { servers } = configureServers(providerKinds, { env: { OLLAMA_HOST: fake.url }, file: {} });
  const names = createModelNames(servers, providerKinds);
  const routerTo = (baseUrl: string): LLMProvider =>
    createRouter(new Map([['ollama', createOllama({ ...OLLAMA_SERVER, baseUrl })]]), names);
  return harnessOf(fake, routerTo, (reply) => fake.answer(toReply(reply)));
});
