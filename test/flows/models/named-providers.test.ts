/** One gateway with Ollama and two OpenAI-compatible servers: each session has a model from its own server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeLlama, startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import { type GatewayFixture, openGatewayFixture } from '../setup.ts';

/** A start with an embedded database takes seconds, and more on a busy machine. */
const START_MS = 90_000;
const KEY = 'sk-of-the-gpu-0123456789';
/** What the list of models has besides those of the attic. */
const OTHERS = ['default', 'chat', 'coder', 'researcher', 'fake:latest', 'plain:latest', 'gpu/fake'];

describe('Ollama and two OpenAI-compatible servers in one gateway', { timeout: START_MS }, () => {
  let gpu: FakeLlama;
  let attic: FakeLlama;
  let fixture: GatewayFixture;
  beforeAll(async () => {
    gpu = await startFakeLlama({ apiKey: KEY });
    attic = await startFakeLlama();
    const providers = {
      gpu: { kind: 'openai', baseUrl: gpu.url, apiKeyEnv: 'GPU_KEY' },
      attic: { kind: 'openai', baseUrl: attic.url, concurrency: 2 },
    };
    fixture = await openGatewayFixture({ env: { GPU_KEY: KEY }, file: { providers } });
  }, START_MS);
  afterAll(async () => {
    await fixture.close();
    await gpu.close();
    await attic.close();
  });

  async function choose(session: string, model: string): Promise<[number, string]> {
    const route = `/v1/sessions/http:${session}`;
    const answer = await fixture.call(route, { method: 'PATCH', json: { model } });
    return [answer.status, await answer.text()];
  }

  async function ask(session: string, content: string): Promise<string> {
    await fixture.post(session, content);
    await fixture.idle(`http:${session}`);
    const messages = await fixture.messages(`http:${session}`);
    return messages.findLast(({ role }) => role === 'assistant')?.content ?? '';
  }

  async function listed(): Promise<string[]> {
    const answer = await fixture.call('/v1/models');
    const { data }: { data: { id: string }[] } = await answer.json();
    return data.map(({ id }) => id);
  }

  it('lists the models of all three under names that can be used in calls', async () => {
    const ids = await listed();
    expect(ids).toEqual([...OTHERS, 'attic/fake']);
    await ask('lists', 'hello');
    for (const id of ids.slice(1)) {
      expect(await choose('lists', id)).toEqual([200, expect.stringContaining(id)]);
    }
  });

  it('answers each session from the server of its model, at the same time', async () => {
    for (const [session, model] of Object.entries({ a: 'gpu/fake', b: 'attic/fake', c: 'ollama/plain' })) {
      await ask(session, 'first words');
      expect((await choose(session, model))[0]).toBe(200);
    }
    gpu.answer({ text: ['from the GPU'], hold: true });
    attic.answer('from the attic');
    const held = ask('a', 'hello');
    const call = await gpu.nextCall();
    expect(await ask('b', 'hello')).toBe('from the attic');
    expect(await ask('c', 'hello')).toBe('echo: hello');
    expect(fixture.ollama.calls.at(-1)?.body.model).toBe('plain');
    call.release();
    expect(await held).toBe('from the GPU');
    expect(gpu.headers.at(-1)?.authorization).toBe(`Bearer ${KEY}`);
    expect(attic.headers.at(-1)?.authorization).toBeUndefined();
    expect(fixture.log.join('')).not.toContain(KEY);
  });

  it('refuses a provider that is not configured, and shows what to write', async () => {
    expect(await choose('a', 'gpo/fake')).toEqual([404, expect.stringContaining('providers.gpo')]);
  });

  it('keeps using the others while one is down', async () => {
    await attic.close();
    expect(await listed()).toEqual(OTHERS);
    gpu.answer('still here');
    expect(await ask('a', 'and you?')).toBe('still here');
    expect(await ask('c', 'and you?')).toBe('echo: and you?');
    expect(await choose('c', 'attic/fake')).toEqual([
      503,
      expect.stringContaining('providers.attic.baseUrl'),
    ]);
  });
});
