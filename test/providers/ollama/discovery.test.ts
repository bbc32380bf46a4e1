/** What the Ollama provider finds out about a model, how long it trusts it, and when it asks again. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { DISCOVERY_TTL_MS } from '../../../src/providers/discovery.ts';
import { drain } from '../../contracts/model/provider.ts';
import { startRawServer } from '../../fakes/network/raw-server.ts';
import { createPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createPairs();
afterEach(() => pairs.closeAll());

describe('what is known about a model', () => {
  it('comes from the server: window, tools, thinking, vision (B-25)', async () => {
    const { ollama } = await pairs.start();
    const can = { tools: true, thinking: true, vision: false };
    expect(await ollama.capabilities('fake', never)).toMatchObject({ contextWindow: 32_768, ...can });
    expect(await ollama.capabilities('plain', never)).toMatchObject({ contextWindow: 8_192, tools: false });
  });

  it('is requested once in five minutes, however many ask (B-26)', async () => {
    let clock = 0;
    const { fake, ollama } = await pairs.start({ monotonicNow: () => clock });
    const asked = (): number => fake.requests.filter((request) => request === 'POST /api/show').length;
    await Promise.all(Array.from({ length: 50 }, () => ollama.capabilities('fake', never)));
    expect(asked()).toBe(1);
    clock = DISCOVERY_TTL_MS - 1_000;
    await ollama.capabilities('fake', never);
    expect(asked()).toBe(1);
    clock = DISCOVERY_TTL_MS + 1_000;
    await ollama.capabilities('fake', never);
    expect(asked()).toBe(2);
  });

  it('is requested again after an overflow, and then holds the window that was actually loaded (B-11)', async () => {
    const { ollama } = await pairs.start({}, { maxWindow: 512 });
    const long = question('word '.repeat(1_000), { contextWindow: 16_384 });
    expect((await ollama.capabilities('fake', never)).contextWindow).toBe(32_768);
    expect((await drain(ollama.streamChat(long, never))).error).toMatchObject({ code: 'context_overflow' });
    expect((await ollama.capabilities('fake', never)).contextWindow).toBe(512);
  });

  it('does not treat a smaller window that someone requested as the limit', async () => {
    let clock = 0;
    const { ollama } = await pairs.start({ monotonicNow: () => clock });
    await collectChat(ollama.streamChat(question('hi', { contextWindow: 1_024 }), never));
    clock = DISCOVERY_TTL_MS;
    expect((await ollama.capabilities('fake', never)).contextWindow).toBe(32_768);
  });

  it('is not remembered after a failure', async () => {
    const { fake, ollama } = await pairs.start();
    await expect(ollama.capabilities('new', never)).rejects.toMatchObject({ code: 'unknown_model' });
    fake.setModels([{ name: 'new:latest', contextLength: 4_096, capabilities: ['completion'] }]);
    expect((await ollama.capabilities('new', never)).contextWindow).toBe(4_096);
    expect(await ollama.models(never)).toEqual(['new:latest']);
  });

  it.each([
    ['lists its models', { models: [{ name: 'fake' }] }],
    ['lists nothing either', undefined],
  ])('is assumed when the server cannot describe models and %s', async (_what, tags) => {
    const server = createServer((request, response) => {
      const known = request.url === '/api/chat' || (request.url === '/api/tags' && tags !== undefined);
      if (!known)
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
      else if (request.url === '/api/tags') response.end(JSON.stringify(tags));
      else
        response.end(
          '{"message":{"content":"Hello."},"done":false}\n{"message":{"content":""},"done":true}\n',
        );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const bound = server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    onTestFinished(() => void server.close());
    const ollama = pairs.providerAt({ baseUrl: `http://127.0.0.1:${port}` });
    const guessed = { windowGuessed: true, tools: true, thinking: false };
    expect(await ollama.capabilities('fake', never)).toMatchObject(guessed);
    expect((await collectChat(ollama.streamChat(question('hi'), never))).content).toBe('Hello.');
    const other = ollama.capabilities('other', never).catch((error: unknown) => error);
    expect(await other).toMatchObject(tags === undefined ? guessed : { code: 'unknown_model' });
  });

  it('is not awaited longer than the server may take', async () => {
    const raw = await startRawServer();
    const ollama = pairs.providerAt({ baseUrl: raw.url, answerWithinMs: 50 });
    const silent = { code: 'unavailable', message: expect.stringContaining('0.05 s') };
    await expect(ollama.capabilities('fake', never)).rejects.toMatchObject(silent);
    await expect(ollama.models(never)).rejects.toMatchObject(silent);
    await raw.close();
  });

  it('is not awaited by a stopped caller', async () => {
    const { ollama } = await pairs.start();
    await expect(ollama.capabilities('fake', AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    await expect(ollama.models(AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
  });
});
